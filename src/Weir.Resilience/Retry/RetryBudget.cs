using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Observability;

namespace Weir.Resilience;

/// <summary>
/// Bounds the retries of everything that calls one service to a share of the calls, so that a service that fails under load is not asked several times as much.
/// Set it as <see cref="RetryOptions.Budget"/>.
/// </summary>
/// <remarks>
/// <para>
/// One instance represents one called service, and is shared by all that calls it: chains, runs and your own code. Each call pays a share of a retry in, and
/// each retry takes a whole one out. A retry that finds too little is not made: the call fails with its own error, as if no attempt were left. A few retries a
/// second are allowed in any case, so that a service with few calls may retry at all; they add nothing while the calls pay for more than that. There are never
/// more retries than <see cref="Ratio"/> times the calls and <see cref="MinRetriesPerSecond"/> times the seconds, with one second more at the start.
/// </para>
/// <para>
/// Chains and runs do all of it by themselves. In code of your own, call <see cref="Deposit"/> for each call and <see cref="TryWithdraw"/> before each retry. A
/// <see cref="RetryPolicy"/> withdraws, and knows of no calls: deposit for it.
/// </para>
/// <para>
/// All members are thread-safe, without a lock or an allocation. While the balance is full, a call costs one read; otherwise one compare-and-swap.
/// </para>
/// <para>
/// Finagle has such a budget, which counts the calls of the last ten seconds; that of gRPC (its proposal A6) is paid by successes alone.
/// </para>
/// </remarks>
[DebuggerDisplay("{Balance} retries, {Refused} refused")]
public sealed class RetryBudget : IRetryBudgetSetting, IMeteredPolicy
{
    // Two accounts, each one word that any thread changes with a compare-and-swap.
    //
    // - The balance: what calls have paid, at most MostSaved retries. It starts empty, so that no retry is made which no call has paid for.
    // - The mark of the floor, by the generic cell rate algorithm (as in TokenBucket): a retry that no call has paid for may be made while the mark is not more
    //   than a second's worth ahead, and moves it by one interval. A retry that was paid for moves it too. So the floor adds nothing where the calls pay for as
    //   many retries as it allows: with two accounts that know nothing of each other, there would be as many retries as both together allow.
    //
    // The mark of paid retries is held within two seconds' worth: otherwise the floor would be gone for as long as there had been many of them.
    private const long Retry = 1_000_000;
    private const int MostSaved = 100;

    // Immutable.
    private readonly Clock _clock;
    private readonly long _perCall;
    private readonly long _interval;
    private readonly long _burst;
    private readonly KeyValuePair<string, object?>? _tag;

    // Atomic.
    private long _balance;
    private long _mark = long.MinValue;
    private long _refused;

    /// <summary>Creates a budget that is empty but for its floor.</summary>
    /// <param name="ratio">How many retries may be made for each call. From 0 to 1.</param>
    /// <param name="minRetriesPerSecond">How many retries may be made in a second in any case. 0 or more.</param>
    /// <param name="timeProvider">The clock, which is read only before a retry; <see langword="null"/> for the system's.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="ratio"/> or <paramref name="minRetriesPerSecond"/> is out of range.</exception>
    public RetryBudget(double ratio = 0.1, int minRetriesPerSecond = 10, TimeProvider? timeProvider = null)
        : this(ratio, minRetriesPerSecond, timeProvider, isCounted: true)
    {
    }

    /// <param name="ratio">How many retries may be made for each call.</param>
    /// <param name="minRetriesPerSecond">How many retries may be made in a second in any case.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="isCounted">Whether it is shown by itself; if not, with the budgets of the other keys.</param>
    internal RetryBudget(double ratio, int minRetriesPerSecond, TimeProvider? timeProvider, bool isCounted)
    {
        if (!(ratio is >= 0 and <= 1))
        {
            throw new ArgumentOutOfRangeException(nameof(ratio), ratio, $"{nameof(ratio)} must be from 0 to 1.");
        }

        Require.AtLeast(0, minRetriesPerSecond, nameof(minRetriesPerSecond));
        Ratio = ratio;
        MinRetriesPerSecond = minRetriesPerSecond;
        _clock = new Clock(timeProvider ?? TimeProvider.System);
        _perCall = (long)(Retry * ratio);
        if (minRetriesPerSecond > 0)
        {
            _interval = Math.Max(1, (_clock.ToTicks(TimeSpan.FromSeconds(1)) + minRetriesPerSecond - 1) / minRetriesPerSecond);
            _burst = _interval * minRetriesPerSecond;
        }

        if (isCounted)
        {
            PolicyRegistry.Add(this);
        }
    }

    /// <summary>How many retries may be made for each call.</summary>
    public double Ratio { get; }

    /// <summary>How many retries may be made in a second in any case.</summary>
    public int MinRetriesPerSecond { get; }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Budgets of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name
    {
        get;
        init
        {
            field = value;
            _tag = PolicyNames.TagOf(value);
        }
    }

    /// <summary>How many retries the calls have paid for that have not been made, at most 100; without those of <see cref="MinRetriesPerSecond"/>.</summary>
    public double Balance => (double)Volatile.Read(ref _balance) / Retry;

    /// <summary>How many retries were not made, because there was too little for them.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Whether a new budget would allow as many retries in any case. What calls have paid is not counted: without it there are fewer retries, and not more.</summary>
    internal bool IsIdle => _interval == 0 || Volatile.Read(ref _mark) <= _clock.Now;

    /// <summary>A call is made: it pays <see cref="Ratio"/> of a retry in. Once for each call, whatever comes of it, and not for its retries.</summary>
    public void Deposit()
    {
        long balance = Volatile.Read(ref _balance);
        while (balance < MostSaved * Retry)
        {
            long seen = Interlocked.CompareExchange(ref _balance, Math.Min(balance + _perCall, MostSaved * Retry), balance);
            if (seen == balance)
            {
                return;
            }

            balance = seen;
        }
    }

    /// <summary>A call is to be made again: takes out a retry.</summary>
    /// <returns>Whether the retry may be made. If not, it is counted as <see cref="Refused"/>.</returns>
    public bool TryWithdraw()
    {
        // First, because the clock is the user's: when it throws, nothing has been taken.
        long now = _interval == 0 ? 0 : _clock.Now;
        bool paid = TryTakePaid();
        if (TryMoveMark(now, paid) || paid)
        {
            return true;
        }

        Interlocked.Increment(ref _refused);
        if (PolicyListeners.WantsCalls)
        {
            PolicyMeter.RetryRefused(_tag);
        }

        return false;
    }

    // Nothing is counted as long as a listener asks: only what is refused, when it is.
    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
    }

    LiveEntry IMeteredPolicy.Show() => PolicyCounts.Budget(this, nameof(RetryBudget), new LiveBudget(Balance, Refused, Ratio, MinRetriesPerSecond));

    private bool TryTakePaid()
    {
        long balance = Volatile.Read(ref _balance);
        while (balance >= Retry)
        {
            long seen = Interlocked.CompareExchange(ref _balance, balance - Retry, balance);
            if (seen == balance)
            {
                return true;
            }

            balance = seen;
        }

        return false;
    }

    /// <returns>Whether the floor allows a retry, which is counted then.</returns>
    private bool TryMoveMark(long now, bool paid)
    {
        if (_interval == 0)
        {
            return false;
        }

        long mark = Volatile.Read(ref _mark);
        while (true)
        {
            long from = Math.Max(mark, now);
            bool allowed = from - now <= _burst - _interval;
            if (!allowed && (!paid || from - now > (2 * _burst) - _interval))
            {
                return false;
            }

            long seen = Interlocked.CompareExchange(ref _mark, from + _interval, mark);
            if (seen == mark)
            {
                return allowed;
            }

            mark = seen;
        }
    }
}

/// <summary>What the option <c>Budget</c> of retries takes: a <see cref="RetryBudget"/>, or one for each key from <c>ByKey</c> of <see cref="RetryBudgets"/>. Any other type is refused.</summary>
[SuppressMessage("Design", "CA1040:Avoid empty interfaces", Justification = "It says what an option takes; a base class would give its types no member.")]
public interface IRetryBudgetSetting;

/// <summary>A retry budget for each key, such as each server that a run calls: one that fails takes no retries from the others.</summary>
/// <remarks>
/// <para>Create it with <see cref="ByKey"/>, and pass the same instance to everything that shares it. All members are thread-safe.</para>
/// <para>
/// Its memory is bounded: when there are many keys, those that were not used for a while are forgotten, and start anew if they come back, without what their
/// calls have paid.
/// </para>
/// </remarks>
public abstract class RetryBudgets : IRetryBudgetSetting, IMeteredPolicy
{
    private protected RetryBudgets()
    {
    }

    /// <summary>How many keys are known.</summary>
    public abstract int Count { get; }

    /// <summary>What metrics call all of them together.</summary>
    public string? Name { get; private init; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    void IMeteredPolicy.AddTo(PolicyCounts counts)
    {
    }

    LiveEntry IMeteredPolicy.Show() => PolicyCounts.Budget(this, nameof(RetryBudgets), Sum());

    /// <summary>What those of all keys have together.</summary>
    internal abstract LiveBudget Sum();

    /// <summary>Creates the budgets.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="ratio">How many retries may be made for each call of a key. From 0 to 1.</param>
    /// <param name="minRetriesPerSecond">How many retries of a key may be made in a second in any case. 0 or more.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <param name="name">What metrics call all of them together, as <see cref="Name"/>.</param>
    /// <param name="timeProvider">The clock, which is read only before a retry; <see langword="null"/> for the system's.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="ratio"/> or <paramref name="minRetriesPerSecond"/> is out of range.</exception>
    public static RetryBudgets<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key,
        double ratio = 0.1,
        int minRetriesPerSecond = 10,
        IEqualityComparer<TKey>? comparer = null,
        string? name = null,
        TimeProvider? timeProvider = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        RetryBudget first = new(ratio, minRetriesPerSecond, timeProvider, isCounted: false);
        RetryBudgetsByKey<TItem, TKey> budgets = new(
            key, () => new RetryBudget(ratio, minRetriesPerSecond, timeProvider, isCounted: false) { Name = name }, comparer, first) { Name = name };
        PolicyRegistry.Add(budgets);
        return budgets;
    }
}

/// <summary>The retry budgets with the type of their keys: each can be looked up.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class RetryBudgets<TKey> : RetryBudgets
    where TKey : notnull
{
    private protected RetryBudgets()
    {
    }

    /// <summary>The budget of a key, which is made if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>The budget. Look it up again instead of keeping it: when there are many keys, one that was not used for a while is forgotten.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract RetryBudget Get(TKey key);

    /// <summary>All keys that are known now, with their budgets, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, RetryBudget>> GetAll();
}

/// <summary>The instances of <see cref="RetryBudgets"/>, with the types of item and key.</summary>
internal sealed class RetryBudgetsByKey<TItem, TKey>(Func<TItem, TKey> key, Func<RetryBudget> make, IEqualityComparer<TKey>? comparer, RetryBudget unused)
    : RetryBudgets<TKey>, IKeyed<TItem, RetryBudget>
    where TKey : notnull
{
    private readonly KeyTable<TKey, RetryBudget> _table = new(make, static budget => budget.IsIdle, comparer);

    public override int Count => _table.Count;

    public override RetryBudget Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, RetryBudget>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override LiveBudget Sum()
    {
        List<RetryBudget> budgets = _table.Policies();
        return new LiveBudget(
            budgets.Sum(static budget => budget.Balance), budgets.Sum(static budget => budget.Refused), unused.Ratio, unused.MinRetriesPerSecond, budgets.Count);
    }

    public KeyUse<RetryBudget> Use(TItem item) => _table.Use(key(item));
}
