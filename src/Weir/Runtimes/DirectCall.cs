using System.Runtime.InteropServices;

namespace Weir.Runtimes;

/// <summary>
/// One call of a <see cref="DirectRuntime"/>. The loop over items that complete at once is a plain method; only an item that waits
/// makes the call asynchronous.
/// </summary>
internal sealed class DirectCall<TItem, TResult> : IDisposable
{
    private readonly IReadOnlyList<TItem> _items;
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _processor;
    private readonly TimeSpan? _itemTimeout;
    private readonly TimeProvider _time;
    private readonly DirectCalls _calls;
    private readonly CancellationToken _callerToken;

    // Cancelled by the batch's deadline and by the end of the runtime: what runs then is given up.
    private readonly CancellationTokenSource _giveUp;
    private readonly CancellationTokenSource _stop;
    private readonly CancellationTokenRegistration _giveUpLink;
    private readonly bool _hasDeadline;
    private ItemRace _race = new();
    private ValueTask<TResult> _pending;
    private CancellationTokenSource? _itemStop;
    private CancellationTokenRegistration _itemLink;
    private long _succeeded;
    private long _unsuccessful;
    private long _abandoned;

    public DirectCall(
        IReadOnlyList<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions options,
        TimeProvider time,
        DirectCalls calls,
        CancellationToken callerToken)
    {
        _items = items;
        _processor = processor;
        _itemTimeout = options.ItemTimeout;
        _time = time;
        _calls = calls;
        _callerToken = callerToken;
        calls.Enter();
        _hasDeadline = options.BatchTimeout is not null;

        // Without a deadline and a caller's token, the runtime's own token serves, and the call makes no source of its own.
        _giveUp = options.BatchTimeout is { } timeout ? Linked(timeout, calls.Ending, out _giveUpLink) : calls.EndingSource;
        _stop = callerToken.CanBeCanceled ? CancellationTokenSource.CreateLinkedTokenSource(_giveUp.Token, callerToken) : _giveUp;
    }

    private bool IsEnding => _calls.Ending.IsCancellationRequested;

    public async Task<ItemOutcome<TResult>[]> RunAsync(ItemOutcome<TResult>[] outcomes)
    {
        try
        {
            int next = 0;
            while (RunUntilWait(outcomes, ref next))
            {
                outcomes[next] = await FinishAsync().ConfigureAwait(false);
                next++;
            }

            _callerToken.ThrowIfCancellationRequested();
            return outcomes;
        }
        finally
        {
            Dispose();
        }
    }

    /// <summary>Runs one item of a stream.</summary>
    public async ValueTask<ItemOutcome<TResult>> RunOneAsync(int index)
    {
        _callerToken.ThrowIfCancellationRequested();
        if (_giveUp.IsCancellationRequested)
        {
            return default;
        }

        ItemOutcome<TResult> outcome = Start(_items[index], out bool waits);
        if (waits)
        {
            outcome = await FinishAsync().ConfigureAwait(false);
            _callerToken.ThrowIfCancellationRequested();
        }

        return outcome;
    }

    public void Dispose()
    {
        if (_stop != _giveUp)
        {
            _stop.Dispose();
        }

        if (_hasDeadline)
        {
            _giveUpLink.Dispose();
            _giveUp.Dispose();
        }

        _calls.Leave(_succeeded, _unsuccessful, _abandoned);
    }

    /// <summary>Runs items from <paramref name="next"/> on, until one waits.</summary>
    /// <returns>Whether the item at <paramref name="next"/> waits; otherwise there is nothing more to run.</returns>
    private bool RunUntilWait(ItemOutcome<TResult>[] outcomes, ref int next)
    {
        if (_itemTimeout is not null)
        {
            return RunTimedUntilWait(outcomes, ref next);
        }

        CancellationToken token = _stop.Token;
        Func<TItem, CancellationToken, ValueTask<TResult>> processor = _processor;
        ReadOnlySpan<TItem> items = _items switch
        {
            TItem[] array => array,
            List<TItem> list => CollectionsMarshal.AsSpan(list),
            _ => default,
        };
        bool indexed = items.Length == outcomes.Length;
        int index = next;
        int started = index;
        long failed = 0;
        while (index < outcomes.Length && !token.IsCancellationRequested)
        {
            try
            {
                for (; index < outcomes.Length && !token.IsCancellationRequested; index++)
                {
                    ValueTask<TResult> pending = processor(indexed ? items[index] : _items[index], token);
                    if (!pending.IsCompleted)
                    {
                        _pending = pending;
                        _succeeded += index - started - failed;
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

        _succeeded += index - started - failed;
        next = index;
        return false;
    }

    private bool RunTimedUntilWait(ItemOutcome<TResult>[] outcomes, ref int next)
    {
        for (; next < outcomes.Length && !_stop.IsCancellationRequested; next++)
        {
            outcomes[next] = Start(_items[next], out bool waits);
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
        CancellationToken token = _stop.Token;
        if (_itemTimeout is { } timeout)
        {
            _itemStop = Linked(timeout, token, out _itemLink);
            token = _itemStop.Token;
        }

        try
        {
            ValueTask<TResult> pending = _processor(item, token);
            if (!pending.IsCompleted)
            {
                _pending = pending;
                waits = true;
                return default;
            }

            return Succeeded(pending.GetAwaiter().GetResult());
        }
        catch (Exception e)
        {
            return Failed(e);
        }
    }

    /// <summary>Waits for the item, or until it is given up.</summary>
    private async ValueTask<ItemOutcome<TResult>> FinishAsync()
    {
        ValueTask<TResult> pending = _pending;
        _pending = default;
        bool ended;
        CancellationToken giveUp = _giveUp.Token;
        CancellationToken itemGiveUp = _itemStop?.Token ?? default;
        CancellationToken callerToken = _callerToken;
        ItemRace race = _race;
        race.Begin();
        using (giveUp.UnsafeRegister(static race => ((ItemRace)race!).GiveUp(), race))
        using (itemGiveUp.UnsafeRegister(
            static (race, _) => ((ItemRace)race!).GiveUpUnlessCancelled(), race.For(callerToken)))
        {
            pending.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(race.ItemEnded);
            ended = await race.WaitAsync().ConfigureAwait(false);
        }

        if (ended)
        {
            try
            {
                return Succeeded(await pending.ConfigureAwait(false));
            }
            catch (Exception e)
            {
                return Failed(e);
            }
        }

        // The stray call may end at any time: it has the race it was in, and the next item gets another one.
        race.Abandon(() => Observe(pending));
        _race = new ItemRace();
        _abandoned++;
        return GivenUp();
    }

    private ItemOutcome<TResult> Succeeded(TResult result)
    {
        _succeeded++;
        EndItem();
        return ItemOutcome<TResult>.Success(result);
    }

    private ItemOutcome<TResult> Failed(Exception error)
    {
        if (error is OperationCanceledException && !_callerToken.IsCancellationRequested
            && (_giveUp.IsCancellationRequested || _itemStop is { IsCancellationRequested: true }))
        {
            return GivenUp();
        }

        _unsuccessful++;
        EndItem();
        return ItemOutcome<TResult>.Failure(error);
    }

    /// <summary>The outcome of an item that was given up, by what came first: the end of the runtime, the batch's deadline, the item's limit.</summary>
    private ItemOutcome<TResult> GivenUp()
    {
        _unsuccessful++;
        EndItem();
        if (IsEnding)
        {
            return ItemOutcome<TResult>.Cancelled();
        }

        string text = _giveUp.IsCancellationRequested
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
            // The item has had its outcome.
        }
    }

    private void EndItem()
    {
        _itemLink.Dispose();
        _itemStop?.Dispose();
        _itemStop = null;
    }

    private CancellationTokenSource Linked(TimeSpan timeout, CancellationToken token, out CancellationTokenRegistration link)
    {
        CancellationTokenSource source = new(timeout, _time);
        link = token.UnsafeRegister(static source => ((CancellationTokenSource)source!).Cancel(), source);
        return source;
    }
}
