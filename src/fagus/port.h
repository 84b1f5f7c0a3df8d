/* Paper 001's port layer, as the rest of the library sees it. */
#ifndef FAGUS_PORT_H
#define FAGUS_PORT_H

/* After the space is open: 0 or FAGUS_E.... */
int fagus_port_open(void);
void fagus_port_close(void);

#endif
