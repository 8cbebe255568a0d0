/* limit tally BOOTSTRAP TOPIC: prints `{"records": N, "pushes": N, "bytes": N, "digest": "…"}` of what is committed. A grouped
 * record has several pushes. The bytes are those of keys and values; the digest covers the headers, too, and does not depend on the
 * order of the records. */
#ifndef TALLY_H
#define TALLY_H

int tally(char **argument);

#endif
