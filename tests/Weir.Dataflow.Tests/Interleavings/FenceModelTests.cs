namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>
/// Both uses of the unequal fence (a worker that rests, an owner that loses its gate) are one pattern: a writes x and reads y, b writes y and reads x, and
/// one of them has to see the other. Tried here in every order that processors with store buffers allow.
/// </summary>
public class FenceModelTests
{
    private enum Fence
    {
        None,
        Own,
        All,
    }

    [Fact]
    public void WriteThenRead_RareSideFencesAllProcessors_OneSeesTheOther() => Assert.False(BothMiss(Fence.None, Fence.All));

    [Fact]
    public void WriteThenRead_BothSidesFenceThemselves_OneSeesTheOther() => Assert.False(BothMiss(Fence.Own, Fence.Own));

    [Fact]
    public void WriteThenRead_RareSideFencesOnlyItself_BothMayMiss() => Assert.True(BothMiss(Fence.None, Fence.Own));

    [Fact]
    public void WriteThenRead_NoFence_BothMayMiss() => Assert.True(BothMiss(Fence.None, Fence.None));

    /// <summary>Whether there is an order of all steps after which neither side has seen what the other wrote.</summary>
    private static bool BothMiss(Fence a, Fence b)
    {
        Fence[] fences = [a, b];
        var seen = new HashSet<State>();
        var open = new Stack<State>([default]);
        while (open.TryPop(out State state))
        {
            if (!seen.Add(state))
            {
                continue;
            }

            if (state.DoneA == 3 && state.DoneB == 3 && state is { SawByA: false, SawByB: false })
            {
                return true;
            }

            foreach (State next in Next(state, fences))
            {
                open.Push(next);
            }
        }

        return false;
    }

    private static IEnumerable<State> Next(State s, Fence[] fences)
    {
        // A buffered write may reach memory at any moment.
        if (s.BufferedA)
        {
            yield return s with { BufferedA = false, X = true };
        }

        if (s.BufferedB)
        {
            yield return s with { BufferedB = false, Y = true };
        }

        if (s.DoneA < 3)
        {
            yield return s.DoneA switch
            {
                0 => s with { DoneA = 1, BufferedA = true },
                1 => Fenced(s with { DoneA = 2 }, fences[0], mine: true),
                _ => s with { DoneA = 3, SawByA = s.Y },
            };
        }

        if (s.DoneB < 3)
        {
            yield return s.DoneB switch
            {
                0 => s with { DoneB = 1, BufferedB = true },
                1 => Fenced(s with { DoneB = 2 }, fences[1], mine: false),
                _ => s with { DoneB = 3, SawByB = s.X },
            };
        }
    }

    private static State Fenced(State s, Fence fence, bool mine)
    {
        if (fence == Fence.All || (fence == Fence.Own && mine))
        {
            s = s with { X = s.X || s.BufferedA, BufferedA = false };
        }

        if (fence == Fence.All || (fence == Fence.Own && !mine))
        {
            s = s with { Y = s.Y || s.BufferedB, BufferedB = false };
        }

        return s;
    }

    private readonly record struct State(int DoneA, int DoneB, bool BufferedA, bool BufferedB, bool X, bool Y, bool SawByA, bool SawByB);
}
