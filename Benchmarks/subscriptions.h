/* limit subscriptions BOOTSTRAP TOPIC TOKENS AUDIENCES: TOKENS devices with a token of 142 bytes each; number i is of place i
 * modulo AUDIENCES. */
#ifndef SUBSCRIPTIONS_H
#define SUBSCRIPTIONS_H

int subscriptions(char **argument);

#endif
