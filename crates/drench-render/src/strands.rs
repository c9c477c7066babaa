//! The strands of a groom as they are shown: those that are simulated, and children that follow them.
//!
//! Pictures and exports read them here, so that both show the same hair.

use crate::RenderError;
use crate::fibre::water::{Water, Wetness, per_vertex};
use drench_geometry::groom::children;
use drench_io::{Domain, Frame, SolidBody, StrandBody, Values};
use drench_math::random::mix;
use glam::Vec3;

/// Radius of strands that carry none [m]: human hair.
const DEFAULT_RADIUS: f32 = 35e-6;

/// How near wet children lie to their nearest guide at the tip: what is left of their distance from it.
const CLUMP: f32 = 0.1;
/// One of so many children leaves the lock.
const STRAYS: u64 = 14;

/// A number from 0 to 1 that has nothing to do with the strand's other random traits.
pub(crate) fn lot(random: u64) -> f32 {
    (mix(random ^ 0x5bf0_3635) >> 40) as f32 / (1u64 << 24) as f32
}

/// The strands of one groom, simulated and interpolated, each to be read by its number.
pub struct Strands<'a> {
    body: &'a StrandBody,
    strands: usize,
    radius: Option<&'a [f32]>,
    ids: Option<&'a [u32]>,
    wetness: Option<Wetness<'a>>,
    skin: Option<&'a SolidBody>,
    children: usize,
    width: f32,
}

impl<'a> Strands<'a> {
    /// The strands of a body of a frame, drawn `width` times as thick as they are.
    pub fn new(body: &'a StrandBody, frame: &'a Frame, width: f32) -> Result<Self, RenderError> {
        let malformed = |reason| RenderError::Malformed { body: body.name.clone(), reason };
        let strands = body.offsets.len().saturating_sub(1);
        if body.offsets.windows(2).any(|w| w[0] > w[1]) {
            return Err(malformed("its offsets fall"));
        }
        if strands > 0 && *body.offsets.last().unwrap_or(&0) as usize > body.positions.len() {
            return Err(malformed("its offsets lead past its last position"));
        }
        let (radius, wetness) = (per_vertex(body, "radius"), Wetness::of(body));
        let ids = match body.attributes.get("id").map(|a| (a.domain, &a.values)) {
            Some((Domain::Strand, Values::U32(values))) if values.len() == strands => Some(&values[..]),
            _ => None,
        };
        let skin = body.children.as_ref().and_then(|c| frame.solids.iter().find(|solid| solid.name == c.solid));
        let mut children = 0;
        if let Some(c) = &body.children {
            children = c.triangles.len();
            let lengths = [c.barycentric.len(), c.guides.len(), c.weights.len(), c.length_ratio.len()];
            if lengths.iter().any(|&n| n != children) {
                return Err(malformed("the arrays of its children differ in length"));
            }
            if children > 0 && skin.is_none() {
                return Err(malformed("its children stand on a solid that the frame does not hold"));
            }
            if c.guides.iter().flatten().any(|&g| g as usize >= strands) {
                return Err(malformed("a child follows a strand that does not exist"));
            }
            if skin.is_some_and(|skin| c.triangles.iter().any(|&t| t as usize >= skin.triangles.len())) {
                return Err(malformed("a child stands on a triangle that does not exist"));
            }
        }
        Ok(Self { body, strands, radius, ids, wetness, skin, children, width })
    }

    /// Number of strands: simulated ones first, then their children.
    #[expect(clippy::len_without_is_empty, reason = "a count, not a container")]
    pub fn len(&self) -> usize {
        self.strands + self.children
    }

    /// Number of simulated strands.
    pub fn simulated(&self) -> usize {
        self.strands
    }

    /// Whether the frame tells of water on them.
    pub fn gets_wet(&self) -> bool {
        self.wetness.is_some()
    }

    /// The simulated strand that this one follows most closely, or is.
    pub fn guide(&self, strand: usize) -> usize {
        let guides = self.body.children.as_ref().and_then(|c| c.guides.get(strand.checked_sub(self.strands)?));
        guides.map_or(strand, |guides| guides[0] as usize)
    }

    /// A number that stays with the strand from frame to frame.
    pub(crate) fn identity(&self, strand: usize) -> u64 {
        match self.ids {
            Some(ids) if strand < self.strands => u64::from(ids[strand]),
            _ if strand < self.strands => strand as u64,
            _ => (1 << 32) + (strand - self.strands) as u64,
        }
    }

    /// The identity of the simulated strand that this one follows.
    pub(crate) fn lock(&self, strand: usize) -> u64 {
        self.identity(self.guide(strand))
    }

    /// Position and radius of the middle vertex of the simulated strand that this one follows or is [m], if they are
    /// finite.
    pub(crate) fn middle(&self, strand: usize) -> Option<(Vec3, f32)> {
        let guide = self.guide(strand);
        let range = self.range(guide);
        let i = Some(range.start + range.len() / 2).filter(|i| range.contains(i))?;
        let radius = self.radius_at(guide, i) + self.wetness.map_or(0.0, |wetness| wetness.film(i));
        let middle = (Vec3::from(self.body.positions[i]), radius * self.width);
        (middle.0.is_finite() && radius.is_finite()).then_some(middle)
    }

    /// Reads the vertices of a strand.
    pub fn read(&self, strand: usize, nodes: &mut Nodes) {
        nodes.positions.clear();
        nodes.radii.clear();
        nodes.water.clear();
        if strand < self.strands {
            nodes.positions.extend(self.range(strand).map(|i| Vec3::from(self.body.positions[i])));
            self.read_hair(strand, nodes);
        } else {
            self.read_child(strand - self.strands, nodes);
        }
    }

    /// Vertices of a simulated strand.
    pub fn range(&self, strand: usize) -> std::ops::Range<usize> {
        self.body.offsets[strand] as usize..self.body.offsets[strand + 1] as usize
    }

    fn radius_at(&self, strand: usize, i: usize) -> f32 {
        let taper = || {
            let range = self.range(strand);
            let s = (i - range.start) as f32 / (range.len() - 1).max(1) as f32;
            DEFAULT_RADIUS * (1.0 - 0.7 * s)
        };
        self.radius.map_or_else(taper, |r| r[i])
    }

    /// What the vertices of a simulated strand are like: how thick, with the film around them, and how wet.
    fn read_hair(&self, strand: usize, nodes: &mut Nodes) {
        for i in self.range(strand) {
            let radius = self.radius_at(strand, i);
            let film = self.wetness.map_or(0.0, |wetness| wetness.film(i));
            nodes.radii.push((radius + film) * self.width);
            nodes.water.extend(self.wetness.map(|wetness| wetness.at(i, radius)));
        }
    }

    /// A child stands on its own skin point and follows its guides; it is as thick and as wet as the nearest of them.
    fn read_child(&self, child: usize, nodes: &mut Nodes) {
        let (Some(c), Some(skin)) = (&self.body.children, self.skin) else { return };
        let corner = |v: u32| skin.positions.get(v as usize).map_or(Vec3::NAN, |&p| Vec3::from(p));
        let [a, b, d] = skin.triangles[c.triangles[child] as usize].map(corner);
        let [u, v] = c.barycentric[child];
        let root = a * (1.0 - u - v) + b * u + d * v;
        let guides = c.guides[child].map(|guide| &self.body.positions[self.range(guide as usize)]);
        nodes.positions.extend(children::follow(guides, c.weights[child], c.length_ratio[child], root));
        let nearest = c.guides[child][0] as usize;
        self.read_hair(nearest, nodes);
        nodes.cling(guides[0], c.length_ratio[child], mix(self.identity(self.strands + child)));
    }
}

/// The vertices of one strand.
#[derive(Default)]
pub struct Nodes {
    /// Positions [m].
    pub positions: Vec<Vec3>,
    /// Radii with the film around them, as they are drawn [m].
    pub radii: Vec<f32>,
    /// Water, or nothing if the groom does not get wet.
    pub water: Vec<Water>,
}

impl Nodes {
    /// Draws a wet child to its guide, the more the farther from the root: a guide with its children is a lock that
    /// tapers. `ratio` is the child's length over that of its guides.
    fn cling(&mut self, guide: &[[f32; 3]], ratio: f32, random: u64) {
        let last = guide.len().saturating_sub(1);
        // Locks have a thickness, and some hairs stand off.
        let loose = if random.is_multiple_of(STRAYS) { 0.6 } else { 0.25 * lot(random) };
        let most = (1.0 - CLUMP) * (1.0 - loose);
        for (i, (p, water)) in self.positions.iter_mut().zip(&self.water).enumerate() {
            let left = 1.0 - i as f32 / last.max(1) as f32;
            let place = (i as f32 * ratio).min(last as f32);
            let low = (place as usize).min(last.saturating_sub(1));
            let high = (low + 1).min(last);
            let target = Vec3::from(guide[low]).lerp(Vec3::from(guide[high]), place - low as f32);
            *p = p.lerp(target, most * water.coat * (1.0 - left * left * left));
        }
    }
}
