using Weir.Delivery.Cli.Engines;

namespace Weir.Audit.Load;

/// <summary>A queue that is open: its publishing ends, and its consumers at work.</summary>
internal sealed class QueueConsumers : IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private readonly List<IWorkSink<string>> _sinks = [];
    private readonly List<IAsyncDisposable> _parts = [];
    private readonly List<Task> _running = [];
    private readonly TaskCompletionSource _failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly OpenedQueue _queue;
    private volatile PassLedger? _ledger;
    private Exception? _lastFault;
    private long _faults;

    private QueueConsumers(OpenedQueue queue) => _queue = queue;

    /// <summary>The publishing ends, one for each publisher.</summary>
    public IReadOnlyList<IWorkSink<string>> Sinks => _sinks;

    /// <summary>How many messages a call that publishes sends before it waits for the engine.</summary>
    public int MessagesPerCall => _queue.MessagesPerCall;

    /// <summary>Fails when a consumer ends.</summary>
    public Task Failure => _failure.Task;

    /// <summary>How often a consumer had to repeat a call, and why the last time.</summary>
    public (long Count, Exception? Last) Faults => (Volatile.Read(ref _faults), Volatile.Read(ref _lastFault));

    /// <summary>Opens a queue, and starts its consumers.</summary>
    /// <param name="queue">The queue, which ends with these.</param>
    /// <param name="settings">How many of each.</param>
    /// <param name="wrap">What stands between the queue and a consumer.</param>
    /// <param name="cancellationToken">Ends it.</param>
    public static async Task<QueueConsumers> StartAsync(
        OpenedQueue queue, EngineSettings settings, Func<IWorkSource<string>, IWorkSource<string>> wrap, CancellationToken cancellationToken)
    {
        QueueConsumers consumers = new(queue);
        try
        {
            for (int i = 0; i < settings.Publishers; i++)
            {
                IWorkSink<string> sink = await queue.Queue.OpenSinkAsync(cancellationToken);
                consumers._sinks.Add(sink);
                consumers._parts.Add(sink);
            }

            for (int i = 0; i < settings.Consumers; i++)
            {
                await consumers.StartAsync(settings, wrap, cancellationToken);
            }

            return consumers;
        }
        catch
        {
            await consumers.DisposeAsync();
            throw;
        }
    }

    /// <summary>The pass that what is processed from now on belongs to.</summary>
    public void Report(PassLedger ledger) => _ledger = ledger;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        foreach (Task running in _running)
        {
            // Why it ended is known already.
            await running.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        for (int i = _parts.Count - 1; i >= 0; i--)
        {
            await _parts[i].DisposeAsync();
        }

        await _queue.DisposeAsync();
        _stop.Dispose();
    }

    private async Task StartAsync(EngineSettings settings, Func<IWorkSource<string>, IWorkSource<string>> wrap, CancellationToken cancellationToken)
    {
        IWorkSource<string> opened = await _queue.Queue.OpenSourceAsync(cancellationToken);
        LedgerSource source = new(wrap(opened), batches => _ledger?.Acknowledge(batches));
        _parts.Add(source);
        ConcurrentRuntime runtime = new(settings.Concurrency);
        _parts.Add(runtime);
        WorkHost<string> host = new(source, runtime, ProcessAsync, new WorkHostOptions<string>
        {
            DeadLetters = _queue.Queue.DeadLetters,
            Serializer = WorkSerializer.Text,
            PartitionBy = settings.IsOrdered ? static item => item.Key : null,
            OnFault = fault =>
            {
                Volatile.Write(ref _lastFault, fault);
                Interlocked.Increment(ref _faults);
            },
        });
        _running.Add(RunAsync(host));
    }

    private ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        _ledger?.Process(item);
        return default;
    }

    private async Task RunAsync(WorkHost<string> host)
    {
        try
        {
            await host.RunAsync(_stop.Token);
            if (!_stop.IsCancellationRequested)
            {
                _failure.TrySetException(new InvalidOperationException($"A consumer of {_queue.Queue.Name} ended by itself."));
            }
        }
        catch (Exception e)
        {
            _failure.TrySetException(e);
        }
    }
}
