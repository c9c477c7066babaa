//! Models of strands, their interaction and contact: knows no files, no pictures.
