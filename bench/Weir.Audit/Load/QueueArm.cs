using Weir.Lab.Processes;
using Weir.Delivery.Cli.Engines;

namespace Weir.Audit.Load;

/// <summary>One queue of its own: passes that publish items, and wait until all are done.</summary>
internal sealed class QueueArm(WorkEngine engine, OptionValue address, int itemsPerMessage, string queueName, EngineSettings settings, AuditHost host)
{
    // Enough messages to be at it for a while, in a time that one waits for.
    private const int UsualMessages = 1000;
    private const int LeastItems = 5000;
    private const int MostItems = 50_000;
    private const int UsualInFlight = 4096;
    private const int LeastMessagesInFlight = 16;
    private const int MostWarmup = 10_000;
    private const int WarmupMessages = 100;

    private QueueConsumers? _open;
    private DeliveryTally _tally = NewTally(settings);
    private bool _isSetUp;
    private int _passes;
    private volatile Progress? _progress;

    /// <summary>The name of the arm.</summary>
    public string Name => FormattableString.Invariant($"{engine.Name} items={itemsPerMessage}");

    public int ItemsPerMessage => itemsPerMessage;

    public string Engine => engine.Name;

    /// <summary>How many items a pass has.</summary>
    public int Count => settings.Count ?? (settings.Rate is { } rate
        ? (int)Math.Ceiling(rate)
        : Math.Clamp(UsualMessages * Math.Min(itemsPerMessage, MostItems), LeastItems, MostItems));

    /// <summary>How many items may be in flight at once, without a rate.</summary>
    public int InFlight => Math.Max(itemsPerMessage, settings.InFlight ?? Math.Max(UsualInFlight, LeastMessagesInFlight * itemsPerMessage));

    /// <summary>How many items are done, since the arm was made.</summary>
    public long ItemsDone => _progress is { } progress ? progress.Before + progress.Ledger.Done : 0;

    /// <summary>How often a consumer had to repeat a call, and why the last time.</summary>
    public (long Count, Exception? Last) Faults { get; private set; }

    /// <summary>How many items were not even published, because nothing was acknowledged any more.</summary>
    public long Unpublished { get; private set; }

    public TrialArm ToTrial(Func<QueueArm, CancellationToken, Task> open)
    {
        int warmup = Math.Min(settings.Warmup ?? Math.Min(WarmupMessages * itemsPerMessage, MostWarmup), Count);

        async ValueTask<PassResult> RunAsync(int count, CancellationToken token)
        {
            try
            {
                await open(this, token);
                return count == 0 ? default : await PassAsync(count, token);
            }
            catch (Exception e) when (IsFailure(e, token))
            {
                throw Failed(e);
            }
        }

        return new TrialArm(Name, new PassResult(Count, 0), token => RunAsync(Count, token))
        {
            WarmUp = warmup == 0 ? null : async token => await RunAsync(warmup, token),
            Begin = async token => await RunAsync(0, token),
            ItemsDone = () => ItemsDone,
            TakeDelivery = () => Interlocked.Exchange(ref _tally, NewTally(settings)),
        };
    }

    /// <summary>Opens the queue and starts its consumers, if that is not done.</summary>
    public async Task OpenAsync(CancellationToken cancellationToken)
    {
        if (_open is not null)
        {
            return;
        }

        OpenedQueue queue = Open();
        try
        {
            if (!_isSetUp)
            {
                // Part of it may be there if this fails.
                _isSetUp = true;
                await queue.Queue.SetupAsync(cancellationToken);
            }
        }
        catch
        {
            await queue.DisposeAsync();
            throw;
        }

        _open = await QueueConsumers.StartAsync(queue, settings, host.WrapSource, cancellationToken);
    }

    /// <summary>Stops the consumers.</summary>
    public async Task CloseAsync()
    {
        if (_open is { } open)
        {
            _open = null;
            (long count, Exception? last) = open.Faults;
            Faults = (Faults.Count + count, last ?? Faults.Last);
            await open.DisposeAsync();
        }
    }

    /// <summary>Removes the queue and all that was set up for it.</summary>
    public async Task DropAsync()
    {
        await CloseAsync();
        if (!_isSetUp)
        {
            return;
        }

        await using OpenedQueue queue = Open();
        if (queue.DropAsync is { } drop)
        {
            // As long as the server takes: a second signal ends the program, and what is not dropped stays.
            await LongWait.ForAsync(drop(CancellationToken.None).AsTask(), $"{engine.Name} to drop the queue {queueName}", host.Say, host.Load.Clock);
        }
    }

    /// <summary>Checks the address. Nothing is asked of the server.</summary>
    public ValueTask CheckAsync() => Open().DisposeAsync();

    private static bool IsFailure(Exception error, CancellationToken stop) =>
        error is not OutOfMemoryException and not BadInputException && !(error is OperationCanceledException && stop.IsCancellationRequested);

    /// <summary>A failure in a sentence that names the engine: what a client or a server says often does not.</summary>
    private InvalidOperationException Failed(Exception error)
    {
        // Several publishers fail together, mostly of the same.
        Exception first = error is AggregateException { InnerExceptions: [var inner, ..] } ? inner : error;
        string what = Credentials.LineOf(first).TrimEnd('.');
        return new InvalidOperationException(
            $"{engine.Name} failed in the queue of {Name}, after {Numbers.Grouped(ItemsDone)} items were done: {what}.", error);
    }

    private static DeliveryTally NewTally(EngineSettings settings) => new() { Response = settings.Rate is null ? null : new() };

    private OpenedQueue Open() =>
        engine.Open(address, new EngineOrder(queueName, settings.IsOrdered, null) { ItemsPerMessage = itemsPerMessage, IsTemporary = true });

    private async Task<PassResult> PassAsync(int count, CancellationToken cancellationToken)
    {
        QueueConsumers open = _open!;
        PassItems items = new(++_passes, count, itemsPerMessage, settings.Publishers, settings.Keys);
        using IMessageStarts starts = settings.Rate is { } rate
            ? new PacedStarts(rate / itemsPerMessage, items.Messages, settings.Publishers)
            : new WindowStarts(InFlight / itemsPerMessage, itemsPerMessage);
        DeliveryTally tally = _tally;
        PassLedger ledger = new(items, starts, tally);
        _progress = new Progress(ledger, ItemsDone);
        open.Report(ledger);
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        TaskCompletionSource failure = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task published = Task.WhenAll(open.Sinks.Select((sink, i) => Task.Run(
            async () =>
            {
                try
                {
                    await PublishAsync(sink, i, items, open.MessagesPerCall, starts, ledger, stop.Token);
                }
                catch (Exception e)
                {
                    failure.TrySetException(e);
                    throw;
                }
            },
            CancellationToken.None)));
        try
        {
            bool isWhole = await AllDoneAsync(ledger, [failure.Task, open.Failure], cancellationToken);
            if (isWhole)
            {
                // The last confirmations may come later than the last acknowledgements.
                await published;
            }
        }
        finally
        {
            await stop.CancelAsync();
            await published.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            tally.AddLateStarts(starts.LateStarts);
            tally.AddLost(cancellationToken.IsCancellationRequested ? 0 : Math.Max(0, ledger.Published - ledger.Done));
            Unpublished += cancellationToken.IsCancellationRequested || failure.Task.IsFaulted ? 0 : items.Count - Math.Max(ledger.Published, ledger.Done);
        }

        return new PassResult(count, 0);
    }

    private static async Task PublishAsync(
        IWorkSink<string> sink, int publisher, PassItems items, int messagesPerCall, IMessageStarts starts, PassLedger ledger, CancellationToken stop)
    {
        long[] intended = new long[messagesPerCall];
        for (int message = publisher; message < items.Messages;)
        {
            int most = Math.Min(messagesPerCall, ((items.Messages - 1 - message) / items.Publishers) + 1);
            int count = await starts.TakeAsync(intended.AsMemory(0, most), stop);
            long now = Stopwatch.GetTimestamp();
            string origin = Guid.CreateVersion7().ToString("N");
            List<WorkItem<string>> call = new(count * items.PerMessage);
            for (int i = 0; i < count; i++, message += items.Publishers)
            {
                ledger.Begin(message, intended[i], now);
                items.Add(message, origin, call);
            }

            await sink.WriteAsync(call, null, stop);
            ledger.EndPublishing(call.Count);
            starts.Published(count);
        }
    }

    /// <summary>Waits until all items are done.</summary>
    /// <returns>Whether they are; if not, nothing was acknowledged for too long.</returns>
    private async Task<bool> AllDoneAsync(PassLedger ledger, Task[] failures, CancellationToken cancellationToken)
    {
        while (true)
        {
            bool wasWaiting = ledger.IsWaiting;
            long done = ledger.Done;
            using CancellationTokenSource wait = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
            Task patience = Task.Delay(settings.Patience, host.Load.Clock, wait.Token);
            Task first = await Task.WhenAny([ledger.AllDone, patience, .. failures]);
            await wait.CancelAsync();
            cancellationToken.ThrowIfCancellationRequested();
            if (first != patience)
            {
                await first;
                return true;
            }

            if (wasWaiting && ledger.Done == done)
            {
                return false;
            }
        }
    }

    /// <summary>The pass that is under way, or was the last.</summary>
    /// <param name="Ledger">What became of its items.</param>
    /// <param name="Before">How many items were done before it.</param>
    private sealed record Progress(PassLedger Ledger, long Before);
}
