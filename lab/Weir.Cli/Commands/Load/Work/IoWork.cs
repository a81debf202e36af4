using Weir.Lab.Formatting;
using Weir.Lab.Work;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Waits for a while without holding a thread.</summary>
internal sealed class IoWork : LoadWork
{
    private readonly WaitThread _waits;

    private IoWork(WaitThread waits, string description)
    {
        _waits = waits;
        Description = description;
        Processor = async (item, cancellationToken) =>
        {
            await waits.WaitAsync(cancellationToken).ConfigureAwait(false);
            return item;
        };
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description { get; }

    public static async Task<IoWork> StartAsync(TimeSpan grain, CancellationToken cancellationToken)
    {
        WaitThread waits = new(grain);
        return new IoWork(waits, await DescribeAsync(waits, cancellationToken).ConfigureAwait(false));
    }

    /// <summary>What a wait is, and how long it really takes here.</summary>
    public static async Task<string> DescribeAsync(WaitThread waits, CancellationToken cancellationToken)
    {
        int probes = (int)Math.Clamp(TimeSpan.FromMilliseconds(50) / waits.Length, 1, 25);
        TimeSpan real = await waits.MeasureAsync(probes, cancellationToken).ConfigureAwait(false);
        return $"waits {Numbers.Time(waits.Length)} without a thread (a timer thread of its own ends the waits; here one takes {Numbers.Time(real)})";
    }

    public override int Expect(int item) => item;

    protected override void End() => _waits.Dispose();
}
