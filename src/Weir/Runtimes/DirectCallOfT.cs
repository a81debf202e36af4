using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>
/// The items of one call of a <see cref="DirectRuntime"/>. The loop over items that complete synchronously is a plain method; only an item that waits makes
/// the call asynchronous.
/// </summary>
internal sealed class DirectCall<TItem, TResult>(
    IReadOnlyList<TItem> items,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    ProcessManyOptions options,
    TimeProvider time,
    DirectCalls calls,
    CancellationToken caller,
    CancellationToken otherCaller = default)
    : DirectCall(calls, options.BatchTimeout, time, caller, otherCaller), IDisposable
{
    private readonly TimeSpan? _itemTimeout = options.PerItemTimeout;
    private ItemRace? _race;
    private TimedItem? _timed;
    private ValueTask<TResult> _pending;

    public async Task<ItemOutcome<TResult>[]> RunAsync(ItemOutcome<TResult>[] outcomes)
    {
        try
        {
            int next = 0;
            if (TryBegin())
            {
                while (RunUntilWait(outcomes, ref next))
                {
                    outcomes[next] = await FinishAsync().ConfigureAwait(false);
                    next++;
                }
            }

            ThrowIfCancelledByCaller();
            return outcomes;
        }
        finally
        {
            Leave();
        }
    }

    /// <summary>Runs one item of a stream.</summary>
    public async ValueTask<ItemOutcome<TResult>> RunOneAsync(int index)
    {
        ThrowIfCancelledByCaller();
        if (!TryBegin())
        {
            return default;
        }

        try
        {
            if (Token.IsCancellationRequested)
            {
                ThrowIfCancelledByCaller();
                return default;
            }

            ItemOutcome<TResult> outcome = Start(items[index], out bool waits);
            if (waits)
            {
                outcome = await FinishAsync().ConfigureAwait(false);
                ThrowIfCancelledByCaller();
            }

            return outcome;
        }
        finally
        {
            Rest();
        }
    }

    public void Dispose() => Leave();

    /// <summary>Runs items, starting at <paramref name="next"/>, until one waits.</summary>
    /// <returns>Whether the item at <paramref name="next"/> waits; if not, there is nothing more to run.</returns>
    private bool RunUntilWait(ItemOutcome<TResult>[] outcomes, ref int next)
    {
        if (_itemTimeout is not null)
        {
            return RunTimedUntilWait(outcomes, ref next);
        }

        // Only the exact type: a class derived from List may return something other than its items.
        IReadOnlyList<TItem> all = items;
        ReadOnlySpan<TItem> span = all switch
        {
            TItem[] array => new ReadOnlySpan<TItem>(array),
            List<TItem> list when list.GetType() == typeof(List<TItem>) => CollectionsMarshal.AsSpan(list),
            _ => default,
        };
        CancellationToken token = Token;
        Func<TItem, CancellationToken, ValueTask<TResult>> call = processor;
        bool indexed = span.Length == outcomes.Length;
        int index = next;
        int started = index;
        long failed = 0;
        while (index < outcomes.Length && !token.IsCancellationRequested)
        {
            try
            {
                for (; index < outcomes.Length && !token.IsCancellationRequested; index++)
                {
                    ValueTask<TResult> pending = call(indexed ? span[index] : all[index], token);
                    if (!pending.IsCompleted)
                    {
                        _pending = pending;
                        Succeeded += index - started - failed;
                        next = index;
                        return true;
                    }

                    outcomes[index] = ItemOutcome<TResult>.Success(pending.GetAwaiter().GetResult());
                }
            }
            catch (Exception e)
            {
                failed++;
                outcomes[index] = Failed(e);
                index++;
            }
        }

        Succeeded += index - started - failed;
        next = index;
        return false;
    }

    private bool RunTimedUntilWait(ItemOutcome<TResult>[] outcomes, ref int next)
    {
        for (; next < outcomes.Length && !Token.IsCancellationRequested; next++)
        {
            outcomes[next] = Start(items[next], out bool waits);
            if (waits)
            {
                return true;
            }
        }

        return false;
    }

    private ItemOutcome<TResult> Start(TItem item, out bool waits)
    {
        waits = false;
        CancellationToken token = Token;
        if (_itemTimeout is { } timeout)
        {
            _timed = new TimedItem(Time, timeout, token);
            token = _timed.Token;
        }

        try
        {
            ValueTask<TResult> pending = processor(item, token);
            if (!pending.IsCompleted)
            {
                _pending = pending;
                waits = true;
                return default;
            }

            return Ended(pending.GetAwaiter().GetResult());
        }
        catch (Exception e)
        {
            return Failed(e);
        }
    }

    /// <summary>Waits until the item ends or is given up.</summary>
    private async ValueTask<ItemOutcome<TResult>> FinishAsync()
    {
        ValueTask<TResult> pending = _pending;
        _pending = default;
        ItemRace race = _timed?.Race() ?? (_race ??= new ItemRace());
        RaceEnd end;
        WaitFor(race);
        try
        {
            pending.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(race.ItemEnded);
            end = await race.WaitAsync().ConfigureAwait(false);
            if (end == RaceEnd.ItemEnded)
            {
                WaitedFor();
                race.Reset();
                return Ended(await pending.ConfigureAwait(false));
            }
        }
        catch (Exception e)
        {
            WaitedFor();
            return Failed(e);
        }

        // The abandoned call may end at any time. It keeps its race, and the next item gets a new one.
        WaitedFor();
        _race = null;
        Abandoned++;
        race.Abandon(() => Observe(pending));
        return GivenUp(end, stray: true);
    }

    private ItemOutcome<TResult> Ended(TResult result)
    {
        Succeeded++;
        EndItem(stray: false);
        return ItemOutcome<TResult>.Success(result);
    }

    private ItemOutcome<TResult> Failed(Exception error)
    {
        if (error is OperationCanceledException && !IsCancelledByCaller)
        {
            if (_timed is { HasExpired: true })
            {
                return GivenUp(RaceEnd.PerItemTimeout, stray: false);
            }

            if (GivenUpAs != ItemStatus.NotRun)
            {
                return GivenUp(RaceEnd.CallGivenUp, stray: false);
            }
        }

        Unsuccessful++;
        EndItem(stray: false);
        return ItemOutcome<TResult>.Failure(error);
    }

    /// <summary>The outcome of an item that was given up, or that ended because its token was cancelled.</summary>
    private ItemOutcome<TResult> GivenUp(RaceEnd end, bool stray)
    {
        Unsuccessful++;
        EndItem(stray);
        if (end == RaceEnd.CallGivenUp && GivenUpAs == ItemStatus.Cancelled)
        {
            return ItemOutcome<TResult>.Cancelled();
        }

        string text = end == RaceEnd.CallGivenUp
            ? "The batch did not end within its time limit."
            : $"The item did not end within its time limit of {_itemTimeout}.";
        return ItemOutcome<TResult>.TimedOut(new TaskCanceledException(text, new TimeoutException(text)));
    }

    private static void Observe(ValueTask<TResult> pending)
    {
        try
        {
            pending.GetAwaiter().GetResult();
        }
        catch (Exception)
        {
            // The item already has its outcome.
        }
    }

    private void EndItem(bool stray)
    {
        _timed?.End(stray);
        _timed = null;
    }
}
