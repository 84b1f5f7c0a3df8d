/* All fabrics there are: adding one is a folder and a name here. The first is the one that
 * groups get unless they are told otherwise. */
#ifndef FABRIC_FABRICS_H
#define FABRIC_FABRICS_H

#define FABRICS(fabric) fabric(mem) fabric(udp) fabric(seat)

#define FABRIC(name) +1
enum { FABRIC_COUNT = 0 FABRICS(FABRIC) };
#undef FABRIC

#endif
