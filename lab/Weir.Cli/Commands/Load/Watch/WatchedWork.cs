using Weir.Cli.Commands.Load.Work;

namespace Weir.Cli.Commands.Load.Watch;

/// <summary>Work that an arm's meter looks at.</summary>
internal sealed class WatchedWork(LoadWork inner, WatchMeter meter) : LoadWork
{
    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; } = meter.Around(inner.Processor);

    public override string Description => inner.Description;

    public override int Expect(int item) => inner.Expect(item);
}
