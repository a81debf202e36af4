using System.Threading.Channels;

namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>
/// Runs a command for several items at once: those that run at the same time share one. If it fails, each of them runs alone, and only those fail that fail
/// alone.
/// </summary>
internal sealed class CommandBatches : IAsyncDisposable
{
    /// <summary>How long an item waits for others at most.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(100);

    private readonly Channel<Entry> _entries;
    private readonly CancellationTokenSource _stop = new();
    private readonly ItemCommand _command;
    private readonly TimeSpan? _timeout;
    private readonly TimeProvider _clock;
    private readonly Task _run;

    public CommandBatches(ItemCommand command, int size, int concurrency, TimeSpan? timeout, TimeProvider clock)
    {
        _command = command;
        _timeout = timeout;
        _clock = clock;
        _entries = Channel.CreateBounded<Entry>(size);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = concurrency, TimeProvider = clock };
        _run = _entries.Reader.ForEachBatchParallelAsync(size, (batch, _) => RunAsync(batch), options, Patience, CancellationToken.None);
    }

    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        Entry entry = new(item, cancellationToken);
        await _entries.Writer.WriteAsync(entry, cancellationToken);
        await entry.Done.Task.WaitAsync(cancellationToken);
    }

    public async ValueTask DisposeAsync()
    {
        _entries.Writer.Complete();
        await _stop.CancelAsync();
        await _run;
        _stop.Dispose();
    }

    private async ValueTask RunAsync(IReadOnlyList<Entry> batch)
    {
        Entry[] live = [.. batch.Where(static e => !e.Token.IsCancellationRequested)];
        if (live.Length > 0 && await TryRunAsync(live, isLast: live.Length == 1))
        {
            return;
        }

        foreach (Entry entry in live.Where(static e => !e.Done.Task.IsCompleted))
        {
            await TryRunAsync([entry], isLast: true);
        }
    }

    private async ValueTask<bool> TryRunAsync(Entry[] entries, bool isLast)
    {
        using CancellationTokenSource limit = new(_timeout ?? Timeout.InfiniteTimeSpan, _clock);
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, _stop.Token);
        try
        {
            await _command.RunAsync([.. entries.Select(static e => e.Item)], stop.Token);
            Array.ForEach(entries, static e => e.Done.TrySetResult());
            return true;
        }
        catch (Exception e)
        {
            Exception error = limit.IsCancellationRequested ? new TimeoutException("The command exceeded its time limit.") : e;
            if (isLast)
            {
                Array.ForEach(entries, entry => entry.Done.TrySetException(error));
            }

            return isLast;
        }
    }

    private sealed class Entry(WorkItem<string> item, CancellationToken token)
    {
        public WorkItem<string> Item => item;

        public CancellationToken Token => token;

        public TaskCompletionSource Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
