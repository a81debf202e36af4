using System.Runtime.InteropServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Threads;
using Weir.Resilience;

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
    RuntimeCalls calls,
    string operation,
    RunControl? control,
    CancellationToken caller,
    CancellationToken otherCaller = default)
    : DirectCall(calls, operation, options, time, options.Control ?? control, caller, otherCaller), IDisposable
{
    private TimeoutPolicy<TResult>? _limit;

    // That of the running item, once it has a time limit or suspends; otherwise one that no item uses.
    private TimeoutScope<TResult>? _scope;
    private ValueTask<TResult> _pending;

    private TimeoutPolicy<TResult> Limit => _limit ??= new TimeoutPolicy<TResult>(Options.PerItemTimeout, WatchTime.For(Time), UrgentWork.Queue);

    /// <summary>Disposes of the results that a caller who has cancelled does not get; null if there is nothing to dispose of.</summary>
    private UnusedResults<ItemOutcome<TResult>>? Unused => IsCancelledByCaller ? UnusedOfCall.Outcomes<TResult>(Options, null, Time) : null;

    public Task<ItemOutcome<TResult>[]> RunAsync(ItemOutcome<TResult>[] outcomes)
    {
        Total = outcomes.Length;
        return Control is { } control ? RunControlledAsync(outcomes, control) : RunFreelyAsync(outcomes);
    }

    // It waits for the items itself: an async method for the wait would be .NET's generic code over our types, which is compiled in each process.
    private async Task<ItemOutcome<TResult>[]> RunFreelyAsync(ItemOutcome<TResult>[] outcomes)
    {
        try
        {
            // False if the call ended before its first item.
            if (TryBegin())
            {
                int next = 0;
                while (RunUntilWait(outcomes, ref next))
                {
                    BeginWait();
                    try
                    {
                        TResult result = await Watch(next).ConfigureAwait(false);
                        outcomes[next] = Ended(result);
                    }
                    catch (Exception e)
                    {
                        outcomes[next] = FailedLater(e);
                    }

                    next++;
                }
            }

            if (Unused is { } unused)
            {
                await unused.DisposeAsync(outcomes).ConfigureAwait(false);
            }

            ThrowIfCancelledByCaller();
            return outcomes;
        }
        finally
        {
            End();
        }
    }

    private async Task<ItemOutcome<TResult>[]> RunControlledAsync(ItemOutcome<TResult>[] outcomes, DirectCallControl control)
    {
        try
        {
            if (TryBegin())
            {
                for (int next = 0; next < outcomes.Length && await control.TryBeginItemAsync(Token).ConfigureAwait(false); next++)
                {
                    ItemOutcome<TResult> outcome = Start(items[next], out bool waits);
                    outcomes[next] = waits ? await FinishAsync(next).ConfigureAwait(false) : outcome;
                }
            }

            if (Unused is { } unused)
            {
                await unused.DisposeAsync(outcomes).ConfigureAwait(false);
            }

            ThrowIfCancelledByCaller();
            return outcomes;
        }
        finally
        {
            End();
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
            if (Token.IsCancellationRequested || (Control is { } asked && !await asked.TryBeginItemAsync(Token).ConfigureAwait(false)))
            {
                ThrowIfCancelledByCaller();
                return default;
            }

            ItemOutcome<TResult> outcome = Start(items[index], out bool waits);
            if (waits)
            {
                outcome = await FinishAsync(index).ConfigureAwait(false);
            }

            if (waits || !outcome.IsSuccess)
            {
                if (Unused is { } unused)
                {
                    await unused.DisposeAsync([outcome]).ConfigureAwait(false);
                }

                // An item that the caller's cancellation ended has not failed, even if it ended on this thread.
                ThrowIfCancelledByCaller();
            }

            return outcome;
        }
        finally
        {
            Rest();
        }
    }

    public void Dispose() => End();

    /// <summary>Runs items, starting at <paramref name="next"/>, until one waits.</summary>
    /// <returns>Whether the item at <paramref name="next"/> waits; if not, there is nothing more to run.</returns>
    private bool RunUntilWait(ItemOutcome<TResult>[] outcomes, ref int next)
    {
        if (Options.PerItemTimeout is not null)
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
                outcomes[index] = Failed(e, hasTimedOut: false);
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

    protected override void GiveUpItem() => Volatile.Read(ref _scope)?.GiveUp();

    protected override void CleanUp()
    {
        base.CleanUp();
        _limit?.Close();
    }

    private ItemOutcome<TResult> Start(TItem item, out bool waits)
    {
        waits = false;
        TimeoutScope<TResult>? scope = null;
        CancellationToken token = Token;
        if (Options.PerItemTimeout is not null)
        {
            token = Begin(scope = Limit.Rent());
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

            TResult result = pending.GetAwaiter().GetResult();
            scope?.EndAtOnce();
            return Ended(result);
        }
        catch (Exception e)
        {
            scope?.EndAtOnce();
            return Failed(e, scope is { HasTimedOut: true });
        }
    }

    /// <summary>Waits until the item ends or is given up.</summary>
    private async ValueTask<ItemOutcome<TResult>> FinishAsync(int index)
    {
        BeginWait();
        try
        {
            return Ended(await Watch(index).ConfigureAwait(false));
        }
        catch (Exception e)
        {
            return FailedLater(e);
        }
    }

    private void BeginWait()
    {
        Show();
        if (Options.PerItemTimeout is null)
        {
            // One scope for all items of the call, as long as none is given up.
            Begin(_scope ?? Limit.Rent());
        }

        if (GivenUpAs != ItemStatus.NotRun)
        {
            _scope!.GiveUp();
        }
    }

    /// <summary>The running item, which has suspended, until it ends or is given up. A task source of the user may throw already here.</summary>
    private ValueTask<TResult> Watch(int index)
    {
        ValueTask<TResult> pending = _pending;
        _pending = default;
        object? given = DiscardedResult<TResult>.MayBeDisposable && !typeof(TItem).IsValueType ? items[index] : null;
        return _scope!.Watch(CallsBackOnce.Of(pending), given);
    }

    /// <summary>The outcome of an item that failed after it had suspended, or that was given up.</summary>
    private ItemOutcome<TResult> FailedLater(Exception error)
    {
        TimeoutScope<TResult> scope = _scope!;
        if (!scope.HasTimedOut && !scope.WasGivenUp)
        {
            return Failed(error, hasTimedOut: false);
        }

        // The abandoned call may end at any time. It keeps its scope, and the next item gets a new one.
        Volatile.Write(ref _scope, null);
        Abandoned++;
        return scope.HasTimedOut ? PassedLimit() : GivenUp();
    }

    /// <summary>
    /// Starts the time of an item. From now on, whoever gives up the call gives up the item, or did so before and is seen by <see cref="BeginWait"/>: the
    /// scope's beginning is a full fence.
    /// </summary>
    private CancellationToken Begin(TimeoutScope<TResult> scope)
    {
        if (_scope != scope)
        {
            Volatile.Write(ref _scope, scope);
        }

        return scope.Begin(Token);
    }

    private ItemOutcome<TResult> Ended(TResult result)
    {
        Succeeded++;
        return ItemOutcome<TResult>.Success(result);
    }

    /// <summary>The outcome of an item that failed, possibly because its token was cancelled.</summary>
    private ItemOutcome<TResult> Failed(Exception error, bool hasTimedOut)
    {
        if (error is OperationCanceledException && !IsCancelledByCaller)
        {
            if (hasTimedOut)
            {
                return PassedLimit();
            }

            if (GivenUpAs != ItemStatus.NotRun)
            {
                return GivenUp();
            }
        }

        Unsuccessful++;
        return ItemOutcome<TResult>.Failure(error);
    }

    private ItemOutcome<TResult> PassedLimit()
    {
        TimedOut++;
        Unsuccessful++;
        return ItemOutcome<TResult>.TimedOut(TimeLimit.OfItem(Options.PerItemTimeout!.Value));
    }

    /// <summary>The outcome of the item that was running when the call was given up.</summary>
    private ItemOutcome<TResult> GivenUp()
    {
        bool cancelled = GivenUpAs == ItemStatus.Cancelled;
        Cancelled += cancelled ? 1 : 0;
        TimedOut += cancelled ? 0 : 1;
        Unsuccessful++;
        return cancelled ? ItemOutcome<TResult>.Cancelled() : ItemOutcome<TResult>.TimedOut(TimeLimit.OfRun(Options.BatchTimeout!.Value));
    }
}
