//! Scene files: text in, validated values out.
