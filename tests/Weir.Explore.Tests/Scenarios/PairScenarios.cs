using Weir.Core.Threads;
using Weir.Resilience;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>
/// Two mechanisms of a run at once: each pair of them, made here and not by hand, in each form in which a caller gets results. What must hold is said once, for
/// all of them (<see cref="PairRun"/>).
/// </summary>
public class PairScenarios(ITestOutputHelper output)
{
    // Of each kind, of which there are some hundred: more would take a night.
    private const int Most = 3_000;

    /// <summary>The mechanisms. The last four end a run before its source does.</summary>
    private static readonly string[] Mechanisms =
        ["keys", "retry", "pause", "moved limit", "time limit", "shared limit", "growing queue", "leave", "stop", "cancel", "failure"];

    /// <summary>A list of an array, a stream of a sequence that waits, and one in order of a sequence that does not; of a queue, if it is one of the two.</summary>
    private static readonly string[] Forms = ["list", "stream", "ordered stream"];

    public static TheoryData<string, string, string, int> Pairs()
    {
        TheoryData<string, string, string, int> pairs = [];
        for (int i = 0; i < Mechanisms.Length; i++)
        {
            for (int j = i + 1; j < Mechanisms.Length; j++)
            {
                foreach (string form in Forms.Where(form => MakesSense(Mechanisms[i], Mechanisms[j], form)))
                {
                    pairs.Add(Mechanisms[i], Mechanisms[j], form, 1);
                    pairs.Add(Mechanisms[i], Mechanisms[j], form, 2);
                }
            }
        }

        return pairs;
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public void Mechanisms_OfARun_KeepTheLawsOfBoth(string first, string second, string form, int limit) =>
        output.Explored(() => new PairRun(first, second, form, limit).RunAsync(), most: Most);

    /// <summary>Nobody leaves a list. The order of a stream is told from that of a list only where somebody leaves it, or where items end out of order.</summary>
    private static bool MakesSense(string first, string second, string form) => form switch
    {
        "list" => first != "leave" && second != "leave",
        "ordered stream" => Array.Exists([first, second], static one => one is "leave" or "retry" or "time limit"),
        _ => true,
    };

    /// <summary>
    /// A run of four items over two mechanisms. Each of them has one thread that disturbs the run, or none. Whatever takes time takes a step, so that it meets the
    /// other. Time moves only when nobody can run: so what is said to hold from some moment on holds for each call that begins later.
    /// </summary>
    private sealed class PairRun(string first, string second, string form, int limit)
    {
        private const int Items = 4;
        private const int Capacity = 1;
        private const int Step = 10;

        // The calls that are given up take longer than their limit and the delay of a timer.
        private const int Long = 3 * Step;

        private static readonly string[] Timed = ["retry", "pause", "moved limit", "time limit", "shared limit"];

        // Immutable.
        private readonly RunControl? _control = Has(first, second, "pause") || Has(first, second, "moved limit") || Has(first, second, "stop") ? new() : null;
        private readonly SharedConcurrencyLimit? _shared = Has(first, second, "shared limit") ? new(1) : null;
        private readonly WorkQueue<int>? _queue = Has(first, second, "growing queue") ? new() : null;
        private readonly CancellationTokenSource _cancel = new();

        // Under the lock.
        private readonly Lock _lock = new();
        private readonly int[] _attempts = new int[Items];
        private readonly int[] _lastOfKey = [-1, -1];
        private readonly long[] _began = new long[Items];
        private readonly HashSet<int> _inside = [];
        private readonly List<(int Item, ItemStatus Status)> _outcomes = [];
        private string? _broken;
        private int _added;
        private bool _isSharedByOther;
        private (int Limit, long At) _limit = (limit, -1);
        private long _pausedAt = long.MaxValue;
        private long _stoppedAt = long.MaxValue;
        private long _overAt = long.MaxValue;
        private long _startedAtStop = -1;

        private bool EndsEarly => Has("leave") || Has("stop") || Has("cancel") || Has("failure");

        private static long Now => Environment.TickCount64;

        public async Task RunAsync()
        {
            IDisposable? open = _queue?.KeepOpen();
            if (_queue is not null)
            {
                _queue.AddRange([0, 1]);
                _added = 2;
            }

            Task[] disturbing = [.. new[] { first, second }.Select(one => Task.Run(() => DisturbAsync(one, open)))];
            try
            {
                await (form == "list" ? ListAsync() : StreamAsync());
                Hold(!Has("failure") || EndsEarlyBesides("failure"), "a failure is thrown");
            }
            catch (ItemFailedException) when (Has("failure"))
            {
            }
            catch (OperationCanceledException e) when (e.InnerException is TimeoutException ? Has("failure") && Has("time limit") : Has("cancel"))
            {
            }

            // Nothing of it goes on, but calls that were given up.
            lock (_lock)
            {
                Hold(!_inside.Any(IsInFlight), "the run has ended with its calls");
                _overAt = Math.Min(_overAt, Now);
            }

            await Task.WhenAll(disturbing);
            await PassAsync(Long);
            await AssertLawsAsync();
        }

        private bool Has(string mechanism) => Has(first, second, mechanism);

        private bool EndsEarlyBesides(string end) => Array.Exists(["leave", "stop", "cancel", "failure"], one => one != end && Has(one));

        private async Task DisturbAsync(string mechanism, IDisposable? open)
        {
            if (mechanism is "stop" or "cancel" && Array.Exists(Timed, Has))
            {
                // When the other one is under way.
                await PassAsync(Step);
            }

            switch (mechanism)
            {
                case "pause":
                    _control!.Pause();
                    long started = _control.Snapshot().Started;
                    Mark(ref _pausedAt);
                    await PassAsync(Step);

                    // What had started and finds its run over is left as it was.
                    Hold(_control.Snapshot().Started <= started, "nothing starts while the run is paused");
                    Unmark(ref _pausedAt);
                    _control.Resume();
                    _control.Pause();
                    _control.Resume();
                    break;
                case "moved limit":
                    await MoveAsync(3 - limit);
                    await MoveAsync(limit);
                    break;
                case "shared limit":
                    await _shared!.EnterAsync();
                    ShareOther(true);
                    await PassAsync(Step);
                    ShareOther(false);
                    _shared.Leave();
                    break;
                case "growing queue":
                    Add(3);
                    open!.Dispose();
                    break;
                case "stop":
                    _control!.Stop();
                    _startedAtStop = _control.Snapshot().Started;
                    Mark(ref _stoppedAt);
                    break;
                case "cancel":
                    await _cancel.CancelAsync();
                    Mark(ref _overAt);
                    break;
                default:
                    break;
            }
        }

        private async Task MoveAsync(int to)
        {
            lock (_lock)
            {
                _limit = (2, long.MaxValue);
            }

            _control!.MaxDegreeOfParallelism = to;
            lock (_lock)
            {
                _limit = (to, Now);
            }

            await PassAsync(Step);
        }

        private void ShareOther(bool isIn)
        {
            lock (_lock)
            {
                Hold(!isIn || !_inside.Any(IsInFlight), "a permit that somebody has is no item's");
                _isSharedByOther = isIn;
            }
        }

        private void Add(int item)
        {
            lock (_lock)
            {
                _added++;
            }

            if (!_queue!.TryAdd(item))
            {
                Hold(EndsEarly, "a queue that is open takes an item");
                lock (_lock)
                {
                    _added--;
                }
            }
        }

        private async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            int attempt = Begin(item);
            try
            {
                if (item == 0 && attempt == 1 && _queue is not null)
                {
                    Add(2);
                }

                if (Has("time limit") && item is 1 or 2)
                {
                    // The first is always given up, and the other one ends as its time does. Neither looks at its token.
                    await PassAsync(item == 1 ? Long : Step);
                }
                else if (item % 2 == 1)
                {
                    await Task.Yield();
                }

                if (item == 0 && attempt == 1 && Has("retry"))
                {
                    throw new TimeoutException();
                }

                return item == 1 && Has("failure") ? throw new ItemFailedException() : 10 * item;
            }
            finally
            {
                lock (_lock)
                {
                    _inside.Remove(item);
                }
            }
        }

        private int Begin(int item)
        {
            lock (_lock)
            {
                int attempt = ++_attempts[item];
                long now = Now;
                int key = item % 2;
                _began[item] = attempt == 1 ? now : _began[item];
                Hold(attempt <= (item == 0 && Has("retry") ? 2 : 1), "an item begins once for each attempt");
                Hold(_inside.Add(item), "an attempt begins after the one before it");
                int inFlight = _inside.Count(IsInFlight);
                Hold(inFlight <= (now > _limit.At ? _limit.Limit : 2) || !Has("moved limit"), "no more begin than a limit that was moved");
                Hold(inFlight <= limit || Has("moved limit"), "no more are in flight than the limit");
                Hold(_shared is null || (inFlight == 1 && !_isSharedByOther), "no more have a permit than there are");
                if (Has("keys"))
                {
                    Hold(_inside.Count(i => i % 2 == key && IsInFlight(i)) == 1, "of a key, one is in flight");
                    Hold(attempt == 1 ? _lastOfKey[key] < item : _lastOfKey[key] == item, "those of a key begin in their order, after the retries of the first");
                    _lastOfKey[key] = item;
                }

                // What waits for its next attempt, or for a permit, has begun before.
                Hold(now <= Math.Min(_pausedAt, _stoppedAt) || attempt > 1 || _shared is not null, "nothing begins in a run that is paused or stopped");
                Hold(now <= _overAt, "nothing begins in a run that is over");
                return attempt;
            }
        }

        /// <summary>An item is in flight until its time is up, whether or not its call has ended by then.</summary>
        private bool IsInFlight(int item) => !Has("time limit") || Now - _began[item] < Step;

        private async Task ListAsync()
        {
            IEnumerable<int> items = _queue?.AsEnumerable() ?? [0, 1, 2, 3];
            ParallelRunOptions options = Options();
            if (Has("failure"))
            {
                List<int> results = await (Has("keys")
                    ? items.PartitionBy(KeyOf).SelectParallelAsync(CallAsync, options, _cancel.Token)
                    : items.SelectParallelAsync(CallAsync, options, _cancel.Token));
                results.ForEach(Keep);
                return;
            }

            ItemOutcome<int, int>[] outcomes = await (Has("keys")
                ? items.PartitionBy(KeyOf).SelectParallelOutcomesAsync(CallAsync, options, _cancel.Token)
                : items.SelectParallelOutcomesAsync(CallAsync, options, _cancel.Token));
            Hold(_queue is not null || outcomes.Length == Items, "each item of an array has an outcome");
            foreach (ItemOutcome<int, int> outcome in outcomes)
            {
                Keep(outcome);
            }
        }

        private async Task StreamAsync()
        {
            ParallelRunOptions options = Options() with { OrderedOutput = form == "ordered stream" };
            IAsyncEnumerable<int> items = _queue ?? (options.OrderedOutput ? AtOnceAsync() : Calls.ItemsAsync([0, 1, 2, 3]));
            if (Has("failure"))
            {
                IAsyncEnumerable<int> results = Has("keys")
                    ? items.PartitionBy(KeyOf).SelectParallelStreamAsync(CallAsync, options, _cancel.Token)
                    : items.SelectParallelStreamAsync(CallAsync, options, _cancel.Token);
                await foreach (int result in results)
                {
                    Keep(result);
                    if (Has("leave"))
                    {
                        break;
                    }
                }

                return;
            }

            IAsyncEnumerable<(int Index, ItemOutcome<int, int> Outcome)> outcomes = Has("keys")
                ? items.PartitionBy(KeyOf).SelectParallelOutcomesStreamAsync(CallAsync, options, _cancel.Token)
                : items.SelectParallelOutcomesStreamAsync(CallAsync, options, _cancel.Token);
            int next = 0;
            await foreach ((int index, ItemOutcome<int, int> outcome) in outcomes)
            {
                Hold(!options.OrderedOutput || index == next++, "a stream in order has each index in its order");
                Keep(outcome);
                if (Has("leave"))
                {
                    break;
                }
            }
        }

        private ParallelRunOptions Options() => new()
        {
            MaxDegreeOfParallelism = limit,
            Control = _control,
            ConcurrencyLimit = _shared,
            ChannelCapacity = Capacity,
            PerItemTimeout = Has("time limit") ? TimeSpan.FromMilliseconds(Step) : null,
            Output = new OutputOptions { ChannelCapacity = Capacity, ReturnOutcomesOnCancellation = true },
            Retry = Has("retry")
                ? new RetryOptions
                {
                    MaxRetries = 1,
                    IsTransient = static e => e is TimeoutException,
                    // With a time limit, there is time for it, unless the first attempt has lasted.
                    BaseDelay = TimeSpan.FromMilliseconds(Has("time limit") ? Step / 2 : Step),
                    BackoffStrategy = BackoffStrategy.Linear,
                }
                : null,
        };

        private void Keep(int result) => Keep(result / 10, ItemStatus.Succeeded);

        private void Keep(ItemOutcome<int, int> outcome)
        {
            Hold(!outcome.IsSuccess || outcome.Value == 10 * outcome.Item, "an item has its own result");
            Keep(outcome.Item, outcome.Status);
        }

        private void Keep(int item, ItemStatus status)
        {
            lock (_lock)
            {
                Hold(_outcomes.TrueForAll(one => one.Item != item), "an item has one outcome");
                Hold(
                    status == ItemStatus.NotRun ? _attempts[item] == 0 : _attempts[item] > 0 || _shared is not null,
                    "what has run has an outcome, and what has not has none");
                _outcomes.Add((item, status));
            }
        }

        private async Task AssertLawsAsync()
        {
            Assert.Null(_broken);
            Assert.Empty(_inside);
            int begun = _attempts.Count(static n => n > 0);
            if (!EndsEarly)
            {
                Assert.Equal([0, 1, 2, 3], _outcomes.Select(static one => one.Item).Order());
                Assert.Equal(Items, begun);
                foreach ((int item, ItemStatus status) in _outcomes)
                {
                    bool mayTimeOut = Has("time limit") && (item is 1 or 2 || (item == 0 && Has("retry")));
                    bool hadNoTime = status == ItemStatus.TimedOut || (item == 0 && status == ItemStatus.Failed);
                    Assert.True(status == ItemStatus.Succeeded ? !(mayTimeOut && item == 1) : mayTimeOut && hadNoTime, $"item {item}: {status}");
                    Assert.True(_attempts[item] == (item == 0 && Has("retry") ? 2 : 1) || hadNoTime, $"item {item}: {_attempts[item]} attempts");
                }
            }

            if (_queue is not null)
            {
                Assert.Equal((0, _added), (_queue.Running, _queue.Count + begun));
                Assert.True(EndsEarly || _queue.IsCompleted);
            }

            if (_shared is not null)
            {
                Assert.Equal((0, 0), (_shared.InUse, _shared.Waiting));
            }

            if (_control is not null)
            {
                RunControlSnapshot told = _control.Snapshot();
                Assert.Equal((0, 0L, 0L), (told.RunningRuns, told.InFlight, told.Waiting));
                Assert.Equal(told.Started, told.Succeeded + told.Failed + told.Cancelled);
                Assert.True(_shared is not null ? told.Started >= begun : told.Started == begun, $"{told.Started} started, and {begun} began");
                Assert.True(_startedAtStop < 0 || told.Started <= _startedAtStop, $"{told.Started} started, and {_startedAtStop} when the run was stopped");
            }

            // The thread of the timers ends when none is set.
            await PassAsync(5_000);
            Assert.False(WatchThread.Shared.IsRunning, "a timer is left");
            _cancel.Dispose();
        }

        private void Mark(ref long at)
        {
            lock (_lock)
            {
                at = Math.Min(at, Now);
            }
        }

        private void Unmark(ref long at)
        {
            lock (_lock)
            {
                at = long.MaxValue;
            }
        }

        /// <summary>Calls are inside a run, which would take an exception for an item's failure.</summary>
        private void Hold(bool isSo, string law)
        {
            if (!isSo)
            {
                lock (_lock)
                {
                    _broken ??= law;
                }
            }
        }

        private static bool Has(string first, string second, string mechanism) => first == mechanism || second == mechanism;

        private static int KeyOf(int item) => item % 2;

        private static Task PassAsync(int milliseconds) => Task.Delay(TimeSpan.FromMilliseconds(milliseconds), TimeProvider.System, CancellationToken.None);

#pragma warning disable CS1998 // It never waits.
        private static async IAsyncEnumerable<int> AtOnceAsync()
#pragma warning restore CS1998
        {
            for (int i = 0; i < Items; i++)
            {
                yield return i;
            }
        }

        private sealed class ItemFailedException : Exception;
    }
}
