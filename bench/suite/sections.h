/* The other parts of heddle-bench, each with options of its own. */
#ifndef HBS_SECTIONS_H
#define HBS_SECTIONS_H

int hbs_quality(int argc, char **argv);
int hbs_verify(int argc, char **argv);
int hbs_execute(int argc, char **argv);
int hbs_record(int argc, char **argv);
int hbs_jobs(int argc, char **argv);
/* argv[0] names one of them; the exit status. */
int hbs_section(int argc, char **argv);

#endif
