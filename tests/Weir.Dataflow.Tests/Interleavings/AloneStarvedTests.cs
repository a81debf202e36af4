using Weir.Dataflow.Cores;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Interleavings;

/// <summary>As <see cref="AloneTests"/>, while all threads of the pool are held.</summary>
[Collection(nameof(WithoutOthers))]
public sealed class AloneStarvedTests : IDisposable
{
    private const int Limit = Eventually.Limit;

    private readonly long _short = ParallelState.ShortTicks;
    private readonly long _long = ParallelState.LongTicks;

    public AloneStarvedTests() => ParallelState.ShortTicks = ParallelState.LongTicks = long.MaxValue;

    public void Dispose() => (ParallelState.ShortTicks, ParallelState.LongTicks) = (_short, _long);

    [Theory(Timeout = Limit)]
    [InlineData(2)]
    [InlineData(8)]
    public async Task Call_BlocksWithNobodyElseAtWorkAndAStarvedPool_HoldsNothingUp(int degree)
    {
        using var pool = new StarvedPool();
        await Lone.CallLasts(degree, pool);
    }
}
