//! The smallest board for cells that touch each other, by branch and bound over ranks: see
//! [`purloin_kernels::floorplan`].

use purloin_cluster::{Cluster, Error, GlobalMin, Rank, Task};
use purloin_kernels::floorplan::{AREAS, Board, CELLS, Cell, Found};
use purloin_kernels::{Description, Input, floorplan};

use super::Kernel;

/// A board whose extensions are searched.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Search(Board);

/// The cells to be placed, and the bound of the search.
pub struct Plan {
    cells: &'static [Cell],
    /// The smallest area that any rank has found so far, or the area of a full board.
    best: GlobalMin,
}

impl Task for Search {
    type Output = Found;
    type Context = Plan;

    fn run<R: Rank<Self>>(self, mut rank: R) -> Found {
        let plan = rank.context();
        let Search(board) = self;
        let area = board.area();
        let best = plan.best.get();
        // The area was below the bound when this task was spawned, but another task may have
        // found a better board since.
        if area >= best {
            return Found::NOTHING;
        }
        let Some(cell) = plan.cells.get(board.count()) else {
            plan.best.lower(area);
            return Found { area, boards: 1 };
        };
        let found = Found {
            boards: 1,
            ..Found::NOTHING
        };
        let boards = board.with_next(cell, best).map(Search);
        rank.spawn_all(boards, found, Found::and)
    }
}

/// The kernel `floorplan`.
pub struct Floorplan {
    plan: Plan,
}

impl Kernel for Floorplan {
    const DESCRIPTION: Description = <floorplan::Floorplan as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = Search;

    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error> {
        let plan = Plan {
            cells: &CELLS[..input[0] as usize],
            best: GlobalMin::new(cluster, Board::AREA)?,
        };
        Ok(Floorplan { plan })
    }

    fn context(&self) -> &Plan {
        &self.plan
    }

    fn root(&self) -> Search {
        Search(Board::empty())
    }

    fn reset(&mut self, _: &Cluster) {
        self.plan.best.reset(Board::AREA);
    }

    fn answer(&self, output: &Found) -> String {
        output.area.to_string()
    }

    fn verify(&self, output: &Found) -> bool {
        output.area == AREAS[self.plan.cells.len() - 1]
    }
}
