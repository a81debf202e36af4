using System.Buffers;
using Weir.Core.Sinks;
using Weir.Resilience;

namespace Weir.Delivery;

/// <summary>The failed items of a call. Each is stored for another attempt or as a dead letter, and is done after that.</summary>
internal sealed class HostFailures<T, TResult>(IWorkSource<T> source, WorkHostOptions<T> options)
{
    private readonly List<(WorkEntry<T, TResult> Entry, TimeSpan Delay)> _again = [];
    private readonly List<(WorkEntry<T, TResult> Entry, DeadLetter Letter)> _dead = [];

    public int Redelivered => _again.Count;

    public int DeadLettered => _dead.Count;

    public void Add(WorkEntry<T, TResult> entry, Exception error, bool isTimeout)
    {
        WorkItem<T> item = entry.Item;
        if (!IsTransient(error))
        {
            Tell(item, error, next: null);
            AddLetter(entry, DeadLetterReason.Rejected, ExceptionText.Of(error));
        }
        else if (source.Redelivery is not null && options.PartitionBy is null && item.Attempt < options.MaxAttempts
            && options.Acknowledge == AcknowledgePoint.AfterProcessing)
        {
            TimeSpan delay = options.DelayAfter(item.Attempt);
            Tell(item, error, delay);
            _again.Add((entry, delay));
        }
        else
        {
            Tell(item, error, next: null);
            AddLetter(entry, isTimeout ? DeadLetterReason.TimedOut : DeadLetterReason.Failed, ExceptionText.Of(error));
        }
    }

    public void AddCrash(WorkEntry<T, TResult> entry) =>
        AddLetter(
            entry,
            DeadLetterReason.Crashed,
            $"{entry.Batch.Batch.Crashes} processes died, or lost the item to a lease or a broker's timeout, while they ran nothing but it.");

    public void AddLetter(WorkEntry<T, TResult> entry, DeadLetterReason reason, string error)
    {
        WorkItem<T> item = entry.Item;
        var payload = new ArrayBufferWriter<byte>();
        try
        {
            options.Serializer!.Write(item.Value, payload);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            payload.ResetWrittenCount();
            error += $"{Environment.NewLine}The value could not be written: {ExceptionText.Of(e)}";
        }

        _dead.Add((entry, new DeadLetter
        {
            Id = item.Id.ToString(),
            Source = source.Name,
            Reason = reason,
            Error = error,
            Attempts = item.Attempt,
            Calls = entry.Batch.Calls(entry.Index),
            Time = options.TimeProvider.GetUtcNow(),
            Key = item.Key,
            Payload = payload.WrittenMemory,
            Headers = item.Headers,
        }));
    }

    /// <summary>Stores all of them, and repeats while the server is unavailable.</summary>
    public async ValueTask StoreAsync(Repeater repeater, CancellationToken cancellationToken)
    {
        foreach (var group in _again.GroupBy(static a => (a.Entry.Batch, a.Delay)))
        {
            WorkItem<T>[] items = [.. group.Select(static a => a.Entry.Item.Again())];
            await repeater.RunAsync(
                token => source.Redelivery!.RedeliverAsync(group.Key.Batch.Batch, items, group.Key.Delay, token), cancellationToken).ConfigureAwait(false);
        }

        if (_dead.Count > 0)
        {
            DeadLetter[] letters = [.. _dead.Select(static d => d.Letter)];
            await repeater.RunAsync(token => options.DeadLetters.AddAsync(letters, token), cancellationToken).ConfigureAwait(false);
            foreach (DeadLetter letter in letters)
            {
                Tell(letter);
            }
        }
    }

    public void SettleNeedsLock()
    {
        foreach ((WorkEntry<T, TResult> entry, _) in _again)
        {
            entry.Batch.Settle(entry.Index);
        }

        foreach ((WorkEntry<T, TResult> entry, _) in _dead)
        {
            entry.Batch.Settle(entry.Index);
        }
    }

    private void Tell(DeadLetter letter)
    {
        try
        {
            options.OnDeadLetter?.Invoke(letter);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The letter is stored. A listener that fails must not end the host.
        }
    }

    private void Tell(WorkItem<T> item, Exception error, TimeSpan? next)
    {
        try
        {
            options.OnFailedAttempt?.Invoke(new FailedAttempt
            {
                Id = item.Id.ToString(),
                Source = source.Name,
                Key = item.Key,
                Attempt = item.Attempt,
                Error = error,
                NextAttemptIn = next,
            });
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // A listener that fails changes nothing of the item.
        }
    }

    private bool IsTransient(Exception error)
    {
        try
        {
            return options.IsTransient?.Invoke(error) ?? true;
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // If IsTransient itself throws, the item gets another attempt.
            return true;
        }
    }
}

/// <summary>Repeats the calls around the items, such as acknowledging, while the server is unavailable. Only a wrong setup stops it.</summary>
internal sealed class Repeater(TimeProvider clock, Action<Exception>? onFault)
{
    private static readonly TimeSpan Base = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(5);
    private long _faults;
    private volatile Exception? _last;

    public long Faults => Volatile.Read(ref _faults);

    /// <summary>The last fault, until a call that was repeated has worked.</summary>
    public Exception? Last => _last;

    public async ValueTask RunAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken)
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                await call(cancellationToken).ConfigureAwait(false);
                if (attempt > 1)
                {
                    _last = null;
                }

                return;
            }
            catch (Exception e) when (IsWorthRepeating(e) && !(e is OperationCanceledException && cancellationToken.IsCancellationRequested))
            {
                Report(e);

                // A connection was lost while the host stops. The call is not repeated, and the host does not fail because of it.
                cancellationToken.ThrowIfCancellationRequested();
                TimeSpan delay = Backoff.GetDelay(BackoffStrategy.ExponentialJitter, Base, Longest, attempt, TimeSpan.Zero, SeededRandom.Shared.NextDouble);
                await Task.Delay(TimerDelay.RoundUp(delay), clock, cancellationToken).ConfigureAwait(false);
            }
        }
    }

    public void Report(Exception fault)
    {
        Interlocked.Increment(ref _faults);
        _last = fault;
        try
        {
            onFault?.Invoke(fault);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // A listener that fails must not end the host.
        }
    }

    private static bool IsWorthRepeating(Exception e) => e is not (WorkSetupException or ArgumentException or ObjectDisposedException);
}
