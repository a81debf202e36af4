using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// The permits of a concurrency limit that the items of one run hold and wait for, and what waits for the tokens of their keys. Whatever becomes of an item,
/// its permit goes back, and its waiters leave their queues.
/// </summary>
/// <remarks>
/// A permit goes back when its call has ended; when its item is given up, although the call may still run; or at once, if the item ends before its call. A waiter
/// leaves its queue when its item starts, ends or is given up, and when the run has stopped. A run holds no more permits than it may have items in flight, as
/// the limit itself sees to (<see cref="PermitUser"/>); <see cref="LimitRaised"/> tells it of more.
/// </remarks>
/// <param name="guarded">Whether items with permits can be given up while they run. Only then is it recorded which item holds which permit.</param>
internal sealed class RunPermits(bool guarded)
{
    private readonly Lock _lock = new();

    // Under _lock, by the indices of items.
    private readonly Dictionary<long, ItemWaiters> _waiting = [];
    private readonly Dictionary<long, ItemPermit> _held = [];
    private bool _closed;

    // Atomic: changed under _lock, read by any thread. Whether any item waits, which an item that ends asks first; an item that waits itself has set it before.
    private volatile bool _hasWaiters;

    // Atomic: changed under _lock. An item that stores its waiter compares it before and afterwards, so that it misses no rise.
    private volatile int _raises;

    /// <summary>Gets an attempt as far as it gets without waiting, with its permit and with the tokens of its key.</summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="token">The item's token. It is cancelled before the item counts as given up.</param>
    /// <param name="until">What the item waits for, holding nothing but its waiters; null if it does not wait.</param>
    /// <param name="kind">What that is.</param>
    /// <returns>The attempt at a rate limit where it waits itself, or at its call. Nothing if the item waits.</returns>
    /// <exception cref="CircuitBreakerOpenException">The circuit is open.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait.</exception>
    /// <exception cref="NotBegunException">The item would have to wait, and it or its run has ended.</exception>
    public Attempt Enter(AttemptGuard guard, long index, CancellationToken token, out Task? until, out WaitKind kind)
    {
        // First: a rise that comes later finds the item's waiter, or is seen when the waiter is stored.
        int raises = _raises;
        ItemWaiters waiters = Take(index);
        kind = WaitKind.ConcurrencyLimit;

        // The key of the item may have changed meanwhile.
        if (waiters.Rate is not null && waiters.Rate.Bucket != guard.BucketToWaitFor)
        {
            waiters.Rate.Drop();
            waiters.Rate = null;
        }

        if (waiters.Permit is not null && waiters.Permit.User != guard.Permits)
        {
            waiters.Permit.Drop();
            waiters.Permit = null;
        }

        Attempt attempt;
        try
        {
            attempt = guard.Permits is { } user ? EnterWithPermit(guard, user, ref waiters.Permit, index, token) : EnterCircuit(guard);
        }
        catch
        {
            waiters.Rate?.Drop();
            throw;
        }

        until = waiters.Permit?.Served;
        if (waiters.Permit is null && attempt.Phase == AttemptPhase.RateLimit && guard.BucketToWaitFor is { } bucket)
        {
            bool hasTokens;
            try
            {
                hasTokens = waiters.Rate is null ? bucket.TryEnter(out waiters.Rate) : waiters.Rate.TryEnter();
            }
            catch
            {
                // The bucket's clock is the user's.
                guard.End(ref attempt);
                waiters.Rate?.Drop();
                throw;
            }

            if (hasTokens)
            {
                attempt.Phase = AttemptPhase.Call;
                return attempt;
            }

            // Others use the permit, and the permission of the circuit, meanwhile.
            guard.Ignored(attempt.Ticket);
            attempt.Release();
            kind = WaitKind.RateLimit;
            until = waiters.Rate!.Served;
        }

        if (until is null)
        {
            return attempt;
        }

        Store(waiters, index, token);
        if (_raises != raises)
        {
            waiters.Permit?.User.UseMore();
        }

        return default;
    }

    /// <summary>The run can use more permits than before, perhaps for items that let others pass.</summary>
    public void LimitRaised()
    {
        HashSet<PermitUser> users = [];
        lock (_lock)
        {
            _raises++;
            foreach (ItemWaiters waiters in _waiting.Values)
            {
                if (waiters.Permit is { } waiter)
                {
                    users.Add(waiter.User);
                }
            }
        }

        foreach (PermitUser user in users)
        {
            user.UseMore();
        }
    }

    private static Attempt EnterCircuit(AttemptGuard guard)
    {
        Attempt attempt = default;
        attempt.Phase = guard.TryEnter(out attempt.Ticket);
        return attempt.Phase == AttemptPhase.Circuit ? throw guard.CreateRejection() : attempt;
    }

    /// <summary>Gets an attempt to its permit. If it has to wait for it, the attempt has not begun, and there is a waiter.</summary>
    private Attempt EnterWithPermit(AttemptGuard guard, PermitUser user, ref PermitWaiter? waiting, long index, CancellationToken token)
    {
        PermitWaiter? waiter = waiting;
        waiting = null;
        AttemptPhase next;
        CircuitTicket ticket = default;
        if (waiter is null)
        {
            next = guard.TryEnter(out ticket);
            if (next == AttemptPhase.Circuit)
            {
                throw guard.CreateRejection();
            }

            if (next != AttemptPhase.ConcurrencyLimit)
            {
                return Begin(next, ticket, user, index, token);
            }

            waiter = user.Queue();
        }

        if (waiter.State != PermitWaiterState.Served)
        {
            waiting = waiter;
            return default;
        }

        try
        {
            next = guard.TryEnterWithPermit(out ticket);
        }
        catch
        {
            user.Leave();
            throw;
        }

        if (next == AttemptPhase.Circuit)
        {
            user.Leave();
            throw guard.CreateRejection();
        }

        return Begin(next, ticket, user, index, token);
    }

    /// <summary>An item has ended that may wait, or have a permit that it did not use.</summary>
    public void Drop(long index) => Take(index).Drop();

    /// <summary>
    /// An item was given up, and its token cancelled before. The permit of its call is returned, although the call may still run.
    /// </summary>
    /// <param name="index">The item's index.</param>
    /// <param name="attempts">The calls with a limit of their own, whose tokens are others than that of the item; null if there are none.</param>
    public void GivenUp(long index, ICallsWithLimits? attempts)
    {
        ItemPermit? permit;
        ItemWaiters waiters;
        lock (_lock)
        {
            // One that is about to take a permit, or to wait, sees its token.
            _held.Remove(index, out permit);
            _waiting.Remove(index, out waiters);
        }

        if (permit is not null)
        {
            // Whoever gets the permit may rely on it that the call before has been told to end.
            attempts?.CancelCallsOf(permit.ItemToken);
            permit.LeaveOnce();
        }

        waiters.Drop();
    }

    /// <summary>The run has stopped or ended: none of its items uses a permit that it has yet to get.</summary>
    public void Close()
    {
        ItemWaiters[] left;
        lock (_lock)
        {
            _closed = true;
            left = [.. _waiting.Values];
            _waiting.Clear();
        }

        foreach (ItemWaiters waiters in left)
        {
            waiters.Drop();
        }
    }

    private ItemWaiters Take(long index)
    {
        if (!_hasWaiters)
        {
            return default;
        }

        lock (_lock)
        {
            _waiting.Remove(index, out ItemWaiters waiters);
            _hasWaiters = _waiting.Count > 0;
            return waiters;
        }
    }

    private void Store(ItemWaiters waiters, long index, CancellationToken token)
    {
        lock (_lock)
        {
            if (!_closed && !token.IsCancellationRequested)
            {
                _waiting.Add(index, waiters);
                _hasWaiters = true;
                return;
            }
        }

        waiters.Drop();
        throw new NotBegunException();
    }

    private Attempt Begin(AttemptPhase phase, CircuitTicket ticket, PermitUser user, long index, CancellationToken token) =>
        new() { Phase = phase, Ticket = ticket, Permit = guarded ? Hold(user, index, token) : user };

    private ItemPermit Hold(PermitUser user, long index, CancellationToken token)
    {
        ItemPermit permit = new(this, user, index, token);
        lock (_lock)
        {
            if (!token.IsCancellationRequested)
            {
                _held.Add(index, permit);
                return permit;
            }
        }

        // Nobody else would return it. No call is made in it.
        permit.LeaveOnce();
        return permit;
    }

    private void Forget(long index, ItemPermit permit)
    {
        lock (_lock)
        {
            if (_held.TryGetValue(index, out ItemPermit? held) && held == permit)
            {
                _held.Remove(index);
            }
        }
    }

    /// <summary>
    /// Where an item stands in queues: in that for a permit, in that for tokens, or in both, if it was called for its tokens and then had to wait for a permit.
    /// </summary>
    private struct ItemWaiters
    {
        public PermitWaiter? Permit;
        public ItemRateWaiter? Rate;

        public readonly void Drop()
        {
            Permit?.Drop();
            Rate?.Drop();
        }
    }

    /// <summary>The permit of one item, returned by its call or by whoever gives the item up, whichever is first.</summary>
    private sealed class ItemPermit(RunPermits permits, PermitUser user, long index, CancellationToken itemToken) : IPermit
    {
        // Atomic: 1 once the permit is returned.
        private int _left;

        public CancellationToken ItemToken => itemToken;

        public void Leave()
        {
            permits.Forget(index, this);
            LeaveOnce();
        }

        public void LeaveOnce()
        {
            if (Interlocked.Exchange(ref _left, 1) == 0)
            {
                user.Leave();
            }
        }
    }
}
