using System.Threading.Channels;

namespace Weir.Lab.Workloads;

/// <summary>One bounded channel. In groups, producers write and consumers read; without, each worker writes an item and reads one.</summary>
internal sealed class ChannelWorkload(int capacity) : ItemWorkload
{
    private Channel<long> _channel = Channel.CreateBounded<long>(capacity);
    private long _written;
    private long _read;

    public override string Name => "channel";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= async (item, cancellationToken) =>
    {
        await WriteAsync(_channel, cancellationToken).ConfigureAwait(false);
        await ReadAsync(_channel, cancellationToken).ConfigureAwait(false);
        return item;
    };

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) =>
        spec.Groups is [{ Name: WorkerRunSpec.DefaultGroup }] || HasSides(spec.Groups)
            ? default
            : throw new ArgumentException("The groups of channel must be producers and consumers.", nameof(spec));

    public override ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _channel = Channel.CreateBounded<long>(capacity);
        (_written, _read) = (0, 0);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context)
    {
        Channel<long> channel = _channel;
        return IsProducer(context.Group) ? Operation.OfAsync(() => WriteAsync(channel, context.Stopping))
            : IsConsumer(context.Group) ? Operation.OfAsync(() => ReadAsync(channel, context.Stopping))
            : Operation.OfAsync(async ValueTask<long> () =>
            {
                await WriteAsync(channel, context.Stopping).ConfigureAwait(false);
                return await ReadAsync(channel, context.Stopping).ConfigureAwait(false);
            });
    }

    public override string? Check(RoundTotals round)
    {
        long left = _channel.Reader.CanCount ? _channel.Reader.Count : 0;
        return _written == _read + left ? null : $"{_written} items were written and {_read} read, with {left} left: some were lost or duplicated.";
    }

    /// <summary>Whether one of two groups writes and the other one reads.</summary>
    public static bool HasSides(IReadOnlyList<WorkerGroup> groups) =>
        groups.Count == 2 && groups.Any(static g => IsProducer(g.Name)) && groups.Any(static g => IsConsumer(g.Name));

    private static bool IsProducer(string group) => group is "producers" or "p";

    private static bool IsConsumer(string group) => group is "consumers" or "c";

    // Waiting and taking are two steps, here and below: WriteAsync and ReadAsync of .NET 10 may lose or double an item when their token is cancelled
    // (dotnet/runtime, issue 132094).
    private async ValueTask WriteAsync(Channel<long> channel, CancellationToken stop)
    {
        while (!channel.Writer.TryWrite(1))
        {
            await channel.Writer.WaitToWriteAsync(stop).ConfigureAwait(false);
        }

        Interlocked.Increment(ref _written);
    }

    private async ValueTask<long> ReadAsync(Channel<long> channel, CancellationToken stop)
    {
        long item;
        while (!channel.Reader.TryRead(out item))
        {
            await channel.Reader.WaitToReadAsync(stop).ConfigureAwait(false);
        }

        Interlocked.Increment(ref _read);
        return item;
    }
}
