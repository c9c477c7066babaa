//! The world as a frame: what pictures, viewer and exports may know.

use crate::cords::{self, CordBody};
use crate::hair;
use crate::world::{StrandBody, World};
use drench_io::frame::{
    Attribute, ChildStrands, Domain, Frame, ParticleBody, ParticleKind, RigidPose, SolidBody,
    StrandBody as FrameStrands, Values,
};
use drench_physics::cords::CordState;
use drench_physics::strands::StrandState;
use glam::{DVec2, DVec3};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The frame of the world at `time`.
pub fn frame(world: &World, time: f64) -> Frame {
    let strands = world.model.strands.iter().zip(&world.state.strands);
    let cords = world.model.cords.iter().zip(&world.state.cords);
    let solids = 0..world.model.solids.len();
    Frame {
        index: world.state.frame,
        time,
        strands: strands
            .enumerate()
            .map(|(groom, (body, state))| self::strands(world, groom, body, state))
            .chain(cords.map(|(body, state)| self::cord(body, state)))
            .collect(),
        solids: solids.map(|solid| self::solid(world, solid)).collect(),
        particles: particles(world, time),
    }
}

fn strands(world: &World, groom: usize, body: &StrandBody, state: &StrandState) -> FrameStrands {
    let strand_count = body.model.strand_count();
    let mut attributes = BTreeMap::new();
    let mut add = |name: &str, domain, values| attributes.insert(name.to_owned(), Attribute { domain, values });
    add("velocity", Domain::Vertex, Values::F32x3(narrow(&state.velocities)));
    add("radius", Domain::Vertex, Values::F32(body.model.radii().to_vec()));
    add("id", Domain::Strand, Values::U32((0..strand_count as u32).collect()));
    if let Some([wetness, fibre, film]) = hair::look(&world.model, &world.state.hair, groom) {
        add("wetness", Domain::Vertex, Values::F32(wetness));
        add("fibre_water", Domain::Vertex, Values::F32(fibre));
        add("film", Domain::Vertex, Values::F32(film));
    }
    if !body.root_uvs.is_empty() {
        let pair = |uv: &DVec2| uv.as_vec2().to_array();
        add("root_uv", Domain::Strand, Values::F32x2(body.root_uvs.iter().map(pair).collect()));
    }
    let children = body.children.as_ref().map(|children| ChildStrands {
        solid: world.model.solids[body.solid].name.clone(),
        triangles: children.triangles.clone(),
        barycentric: children.barycentric.clone(),
        guides: children.guides.clone(),
        weights: children.weights.clone(),
        length_ratio: children.length_ratio.clone(),
    });
    FrameStrands {
        name: body.name.clone(),
        offsets: body.model.offsets().to_vec(),
        positions: narrow(&state.positions),
        attributes,
        children,
    }
}

fn particles(world: &World, time: f64) -> Vec<ParticleBody> {
    let World { model, state, .. } = world;
    let liquid = model.liquid.iter().map(|body| {
        let liquid = &state.liquid;
        // A particle that lost mass is a smaller drop.
        let radius = |mass: &f64| 0.5 * body.model.spacing * (mass / body.model.particle_mass()).cbrt();
        let attributes = [
            ("velocity", Values::F32x3(narrow(&liquid.velocities))),
            ("radius", Values::F32(liquid.masses.par_iter().map(|mass| radius(mass) as f32).collect())),
            ("id", Values::U32(liquid.ids.iter().map(|id| *id as u32).collect())),
            ("age", Values::F32(liquid.births.par_iter().map(|birth| (time - birth) as f32).collect())),
        ];
        particle_body("liquid", ParticleKind::Liquid, &liquid.positions, attributes)
    });
    let grains = model.grains.iter().zip(&state.grains).map(|(body, grains)| {
        let wetness = |grain: usize| {
            let dry = body.model.dry_mass(grains.sizes[grain]);
            body.model.wetness().map_or(0.0, |law| law.wetness(grains.water[grain], dry)) as f32
        };
        let attributes = [
            ("velocity", Values::F32x3(narrow(&grains.velocities))),
            ("radius", Values::F32(grains.radii.iter().map(|radius| *radius as f32).collect())),
            ("id", Values::U32(grains.ids.clone())),
            ("wetness", Values::F32((0..grains.len()).map(wetness).collect())),
        ];
        particle_body(&body.name, ParticleKind::Grains, &grains.positions, attributes)
    });
    liquid.chain(grains).collect()
}

fn particle_body(name: &str, kind: ParticleKind, positions: &[DVec3], attributes: [(&str, Values); 4]) -> ParticleBody {
    let attribute = |(name, values): (&str, Values)| (name.to_owned(), Attribute { domain: Domain::Vertex, values });
    let attributes = attributes.into_iter().map(attribute).collect();
    ParticleBody { name: name.to_owned(), kind, positions: narrow(positions), attributes }
}

fn cord(body: &CordBody, state: &CordState) -> FrameStrands {
    let mut attributes = BTreeMap::new();
    let mut add = |name: &str, domain, values| attributes.insert(name.to_owned(), Attribute { domain, values });
    let (tension, twist, normal) = cords::material(state);
    let mut radii = Vec::new();
    state.radii(&body.model, &mut radii);
    add("velocity", Domain::Vertex, Values::F32x3(narrow(&state.velocities)));
    add("radius", Domain::Vertex, Values::F32(radii));
    add("tension", Domain::Vertex, Values::F32(tension));
    add("twist", Domain::Vertex, Values::F32(twist));
    add("normal", Domain::Vertex, Values::F32x3(narrow(&normal)));
    // The cord that a piece is of, for ever the same.
    add("id", Domain::Strand, Values::U32(state.cords.clone()));
    FrameStrands {
        name: body.name.clone(),
        offsets: state.offsets.clone(),
        positions: narrow(&state.positions),
        attributes,
        children: None,
    }
}

fn solid(world: &World, index: usize) -> SolidBody {
    let (model, scratch) = (&world.model.solids[index], &world.scratch.solids[index]);
    let place = scratch.after;
    let rigid = model.animation.is_none();
    let local = scratch.positions(model);
    let world_of = |local: &DVec3| (place.rotation * *local + place.translation).as_vec3().to_array();
    let turned = |normal: &DVec3| (place.rotation * *normal).as_vec3().to_array();
    SolidBody {
        name: model.name.clone(),
        positions: local.par_iter().map(world_of).collect(),
        triangles: model.mesh.triangles.clone(),
        // A deforming mesh's normals follow from its positions.
        normals: if rigid { model.mesh.normals.par_iter().map(turned).collect() } else { Vec::new() },
        pose: rigid.then_some(RigidPose { position: place.translation, rotation: place.rotation }),
    }
}

fn narrow(vectors: &[DVec3]) -> Vec<[f32; 3]> {
    vectors.par_iter().map(|vector| vector.as_vec3().to_array()).collect()
}
