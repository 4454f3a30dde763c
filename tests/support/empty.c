/* Keeps the support library from being empty. */
typedef int hdt_empty;
