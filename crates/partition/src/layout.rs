//! The order in which Distributed Intensity deals sorted threads to places: from alternating ends
//! (DINO, sections 3.1 and 3.3.3; docs/design/dino.md). Knows nothing of domains, cores or load.

/// Gives every place of each pass to one of `dealt`, which are in order of falling intensity: the
/// first pass takes them from the front, the second from the back, and so on, until all are dealt.
/// A place that takes several is listed several times.
pub fn deal<P>(dealt: &mut [P], passes: impl IntoIterator<Item = impl IntoIterator<Item = P>>) {
    let (mut front, mut back) = (0, dealt.len());
    let mut from_front = true;
    for pass in passes {
        for place in pass {
            if front == back {
                return;
            }
            let next = if from_front { front } else { back - 1 };
            dealt[next] = place;
            if from_front { front += 1 } else { back -= 1 }
        }
        from_front = !from_front;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_example() {
        // D D d d d t t t on 4 domains of 2 cores: D t | D t | d t | d d.
        let mut domain = [9; 8];
        deal(&mut domain, [[0, 1, 2, 3], [0, 1, 2, 3]]);
        assert_eq!(domain, [0, 1, 2, 3, 3, 2, 1, 0]);
    }

    #[test]
    fn it_stops_where_all_are_dealt() {
        let mut place = [9; 3];
        deal(&mut place, [[0, 1], [2, 3]]);
        assert_eq!(place, [0, 1, 2]);
        deal::<i32>(&mut [], [[0, 1]]);
    }
}
