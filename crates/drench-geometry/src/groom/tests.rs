//! Tests of whole grooms.
