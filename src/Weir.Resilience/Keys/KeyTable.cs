using System.Diagnostics;

namespace Weir.Resilience;

/// <summary>
/// The instances of a policy by their keys. Idle instances are forgotten when there are many: those that nobody uses, that were not used since the last time,
/// and that hold nothing which a new instance would not know. So there are at most about twice as many as are needed at once, or 1,024.
/// </summary>
/// <param name="make">Makes the instance of a new key.</param>
/// <param name="isIdle">
/// Whether an instance holds nothing that a new one would not know. Called under the table's lock; of the user's code it runs only the clock.
/// </param>
/// <param name="comparer">Compares keys. Its methods are the user's code: they run under no lock, and what they throw goes to the caller.</param>
internal sealed class KeyTable<TKey, TPolicy>(Func<TPolicy> make, Func<TPolicy, bool> isIdle, IEqualityComparer<TKey>? comparer)
    where TKey : notnull
{
    private const int Few = 1024;

    // Immutable.
    private readonly IEqualityComparer<TKey> _comparer = comparer ?? EqualityComparer<TKey>.Default;
    private readonly Lock _lock = new();

    // Under _lock.
    private readonly Dictionary<int, Entry> _byHash = [];
    private int _count;
    private int _sweepAt = Few;

    /// <summary>How many keys are known.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _count;
            }
        }
    }

    /// <summary>The policies of all keys that are known.</summary>
    public List<TPolicy> Policies() => Entries().ConvertAll(static entry => entry.Value);

    /// <summary>All keys that are known, with their policies.</summary>
    public List<KeyValuePair<TKey, TPolicy>> Entries()
    {
        lock (_lock)
        {
            List<KeyValuePair<TKey, TPolicy>> policies = new(_count);
            foreach (Entry first in _byHash.Values)
            {
                for (Entry? entry = first; entry is not null; entry = entry.Next)
                {
                    policies.Add(new(entry.Key, entry.Policy));
                }
            }

            return policies;
        }
    }

    /// <summary>The policy of a key, for somebody who looks at it. The table may forget it all the same.</summary>
    public TPolicy Get(TKey key)
    {
        ArgumentNullException.ThrowIfNull(key);
        KeyUse<TPolicy> use = Use(key);
        use.Release();
        return use.Policy;
    }

    public KeyUse<TPolicy> Use(TKey key)
    {
        if (key is null)
        {
            throw new InvalidOperationException("The key of the item is null.");
        }

        int hash = _comparer.GetHashCode(key);
        Entry? made = null;
        while (true)
        {
            Entry? first;
            lock (_lock)
            {
                first = _byHash.GetValueOrDefault(hash);
            }

            // Entries are only added at the head, and an entry that was taken out still leads to those behind it.
            Entry? found = first;
            while (found is not null && !_comparer.Equals(found.Key, key))
            {
                found = found.Next;
            }

            made ??= found is null ? new Entry(key, make()) : null;
            lock (_lock)
            {
                if (TryUseNeedsLock(hash, first, found ?? made!, isNew: found is null))
                {
                    return found ?? made!;
                }
            }
        }
    }

    private bool TryUseNeedsLock(int hash, Entry? first, Entry entry, bool isNew)
    {
        if (isNew)
        {
            if (_byHash.GetValueOrDefault(hash) != first)
            {
                // Somebody may have added the same key.
                return false;
            }

            if (_count >= _sweepAt)
            {
                SweepNeedsLock();
            }

            entry.Next = _byHash.GetValueOrDefault(hash);
            _byHash[hash] = entry;
            _count++;
        }

        if (entry.IsForgotten)
        {
            return false;
        }

        Interlocked.Increment(ref entry.Users);
        entry.WasUsed = true;
        return true;
    }

    // It reads the clock, which is the user's. In the middle of a sweep, a failure would leave entries that are forgotten in the table.
    private bool IsIdle(TPolicy policy)
    {
        try
        {
            return isIdle(policy);
        }
        catch (Exception)
        {
            return false;
        }
    }

    private void SweepNeedsLock()
    {
        foreach (int hash in _byHash.Keys.ToArray())
        {
            Entry? head = null;
            Entry? last = null;
            for (Entry? entry = _byHash[hash]; entry is not null; entry = entry.Next)
            {
                if (Volatile.Read(ref entry.Users) == 0 && !entry.WasUsed && IsIdle(entry.Policy))
                {
                    entry.IsForgotten = true;
                    _count--;
                    continue;
                }

                entry.WasUsed = false;
                head ??= entry;
                _ = last is null ? null : last.Next = entry;
                last = entry;
            }

            if (head is null)
            {
                _byHash.Remove(hash);
            }
            else
            {
                last!.Next = null;
                _byHash[hash] = head;
            }
        }

        // Not twice the count: what is new since the last sweep is never forgotten, so it would grow with each one.
        _sweepAt = _count + Math.Max(Few, _count / 2);
    }

    private sealed class Entry(TKey key, TPolicy policy) : KeyUse<TPolicy>(policy)
    {
        // Atomic: grows only under the table's lock, and shrinks without it. So an entry that has no users under the lock gets none before the lock is given up, and
        // can be forgotten. If it grew without the lock, a policy could be forgotten while a call begins to use it, and its key would have two.
        public int Users;

        // Atomic: changed under the table's lock, read by any thread that looks for a key.
        private Entry? _next;

        public TKey Key => key;

        /// <summary>The next key of the same hash.</summary>
        public Entry? Next
        {
            get => Volatile.Read(ref _next);
            set => Volatile.Write(ref _next, value);
        }

        /// <summary>Whether it was used since the last sweep. Under the table's lock.</summary>
        public bool WasUsed { get; set; }

        /// <summary>Whether it is out of the table. Under the table's lock.</summary>
        public bool IsForgotten { get; set; }

        public override void Release()
        {
            int left = Interlocked.Decrement(ref Users);
            Debug.Assert(left >= 0, "Each use ends once.");
        }
    }
}

/// <summary>A policy instance of one key, which is not forgotten while it is in use.</summary>
internal abstract class KeyUse<TPolicy>(TPolicy policy)
{
    public TPolicy Policy => policy;

    /// <summary>Ends the use. Called once for each use.</summary>
    public abstract void Release();
}

/// <summary>One instance of a policy for each key.</summary>
/// <typeparam name="TItem">What has a key.</typeparam>
/// <typeparam name="TPolicy">The policy.</typeparam>
internal interface IKeyed<in TItem, TPolicy>
{
    /// <summary>The instance for an item's key. It is not forgotten before it is released. Runs the user's functions, and throws what they throw.</summary>
    KeyUse<TPolicy> Use(TItem item);
}
