/* A new folder of a test's own, in which it runs; as a suite's .init and .fini. */
#ifndef HDT_FOLDER_H
#define HDT_FOLDER_H

void hdt_enter_folder(void);
void hdt_leave_folder(void); /* removes it, and what is in it */

#endif
