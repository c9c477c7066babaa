//! Reading: the tree of a file, and the curves in it.

mod curves;
mod ogawa;
mod tree;

use crate::error::AlembicError;
use crate::types::TimeSampling;
use curves::IDENTITY;
pub use curves::{Curves, CurvesObject, ReadParameter, ReadValues};
use ogawa::{Child, Container};
use std::path::Path;
use tree::{Object, TreeReader};

/// An Alembic file to read.
pub struct Reader {
    container: Container,
    top: Object,
    samplings: Vec<Option<TimeSampling>>,
}

impl Reader {
    /// Opens a file and reads its tree, not its samples.
    pub fn open(path: &Path) -> Result<Self, AlembicError> {
        let (container, root) = Container::open(path)?;
        let groups = container.group(root)?;
        let &[
            Child::Data(version),
            Child::Data(_),
            Child::Group(top),
            Child::Data(_),
            Child::Data(samplings),
            Child::Data(shared),
            ..,
        ] = groups.as_slice()
        else {
            return Err(container.format("its root is not that of an Alembic archive"));
        };
        let version = container.data(version)?;
        if version != [0; 4] {
            return Err(container.format(&format!("its version is {version:?}, newer than this program knows")));
        }
        let samplings = tree::time_samplings(&container, &container.data(samplings)?)?;
        let shared = container.data(shared)?;
        let top = TreeReader::new(&container, &shared)?.object(top, "ABC".into(), "".into(), 0)?;
        Ok(Self { container, top, samplings })
    }

    /// All curves, in the order of the tree.
    pub fn curves(&self) -> Result<Vec<CurvesObject<'_>>, AlembicError> {
        let mut found = Vec::new();
        self.gather(&self.top, "", IDENTITY, &mut found)?;
        Ok(found)
    }

    fn gather<'r>(
        &'r self,
        object: &'r Object,
        path: &str,
        above: curves::Matrix,
        found: &mut Vec<CurvesObject<'r>>,
    ) -> Result<(), AlembicError> {
        for child in &object.children {
            let path = format!("{path}/{}", child.name);
            let mut matrix = above;
            match tree::value(&child.metadata, "schema") {
                Some(schema) if schema.starts_with("AbcGeom_Xform") => {
                    matrix = curves::transform(&self.container, child, above)?;
                }
                Some(schema) if schema.starts_with("AbcGeom_Curve") => {
                    found.push(CurvesObject::new(self, child, path.clone(), matrix));
                }
                _ => {}
            }
            self.gather(child, &path, matrix, found)?;
        }
        Ok(())
    }
}
