/* limit tally BOOTSTRAP TOPIC: prints `{"records": N, "digest": "…"}` of what is committed. The digest covers keys, values and
 * headers, and does not depend on the order of the records. */
#ifndef TALLY_H
#define TALLY_H

int tally(char **argument);

#endif
