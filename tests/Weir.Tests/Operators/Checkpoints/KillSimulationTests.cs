using System.Threading.Channels;
using System.Threading.Tasks.Sources;
using Weir.Checkpoints;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a run that is killed or stopped again and again leave nothing out, repeat no more than a second after a kill, and nothing otherwise? The clock, the disk and the kills are the test's.</summary>
public class KillSimulationTests
{
    private const int Kills = 600;

    public enum Shape
    {
        ForEach,
        List,
        Outcomes,
        Stream,
        OrderedStream,
        OutcomesStream,
        Batches,
        Keys,
        Lanes,
        Concurrent,
        Direct,
        Parallel,
        Auto,
        AutoDecisions,
        RuntimeStream,
        RuntimeOrderedStream,
        RuntimeOfAsync,
        RuntimeOfChannel,
        RuntimeLanes,
        AsyncBatches,
        LaneBatches,
        ChannelStream,
    }

    public static TheoryData<Shape> Shapes() => [.. Enum.GetValues<Shape>()];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Shapes))]
    public async Task NothingIsLeftOut_WhereverTheProcessIsKilled(Shape shape)
    {
        int kills = 0;
        for (int seed = 1; kills < Kills; seed++)
        {
            World world = new(shape, seed);
            await world.RunToTheEndAsync();
            kills += world.Kills;
            world.Check();
        }
    }

    /// <summary>The items, what was done with them, the disk and the clock: all that outlives a process.</summary>
    private sealed class World
    {
        private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

        private readonly Shape _shape;
        private readonly int _seed;
        private readonly Random _random;
        private readonly ModelDisk _disk = new();
        private readonly ManualTimeProvider _clock = new();
        private readonly int[] _items;
        private readonly int _limit;
        private readonly bool _losesPower;
        private readonly Lock _lock = new();

        // Under _lock.
        private readonly List<(int Item, TimeSpan At, int Life)> _effects = [];
        private readonly List<(TimeSpan At, bool Killed)> _ends = [];

        public World(Shape shape, int seed)
        {
            _shape = shape;
            _seed = seed;
            _random = new Random((seed * 31) + (int)shape);
            _items = [.. Enumerable.Range(0, _random.Next(1, 60))];
            _limit = _random.Next(1, 8);
            _losesPower = _random.Next(2) == 0;
        }

        public int Kills { get; private set; }

        private int Next(int below)
        {
            lock (_random)
            {
                return _random.Next(below);
            }
        }

        private void Shuffle(int[] items)
        {
            lock (_random)
            {
                _random.Shuffle(items);
            }
        }

        private bool IsStream => _shape is Shape.Stream or Shape.OrderedStream or Shape.OutcomesStream or Shape.RuntimeStream or Shape.RuntimeOrderedStream
            or Shape.ChannelStream;

        // The first failure stops the run.
        private bool FailsFast => _seed % 3 == 0;

        public async Task RunToTheEndAsync()
        {
            for (int life = 0; ; life++)
            {
                Assert.True(life < 1_000, $"{_shape}, seed {_seed}: no end");
                using Life now = new(this, life, kills: life < 30);
                bool killed = await now.LiveAsync().WaitAsync(TimeSpan.FromSeconds(60));
                _ends.Add((now.DiedAt, killed));
                if (!killed && !now.LeavesItems)
                {
                    return;
                }

                if (killed)
                {
                    Kills++;
                    if (_losesPower)
                    {
                        _disk.LosePower(_random);
                    }
                    else
                    {
                        _disk.Kill();
                    }
                }
            }
        }

        public void Check()
        {
            string world = $"{_shape}, seed {_seed}";
            foreach (IGrouping<int, (int Item, TimeSpan At, int Life)> effects in _effects.GroupBy(static e => e.Item))
            {
                (int Item, TimeSpan At, int Life)[] all = [.. effects.OrderBy(static e => e.Life)];
                Assert.True(all.Select(static e => e.Life).Distinct().Count() == all.Length, $"{world}: item {effects.Key} twice in one run");

                // In a stream, the effect is the consumer's, and nobody else knows when it comes back.
                foreach ((_, TimeSpan at, int life) in all[..^1])
                {
                    Assert.True(_ends[life].Killed, $"{world}: item {effects.Key} was repeated after a run that ended by itself, {life}");
                    Assert.True(IsStream || !_ends[life].Killed || _ends[life].At - at <= Second, $"{world}: item {effects.Key} of {at} was repeated after a kill at {_ends[life].At}");
                }
            }

            int[] leftOut = [.. _items.Except(_effects.Select(static e => e.Item))];
            Assert.True(leftOut.Length == 0, $"{world}: left out {string.Join(' ', leftOut)}");
        }

        /// <summary>One process.</summary>
        private sealed class Life : IDisposable
        {
            private readonly World _world;
            private readonly int _life;
            private readonly bool _mayDie;
            private readonly SemaphoreSlim _changed = new(0);
            private readonly SemaphoreSlim _noted = new(0);
            private readonly CancellationTokenSource _stop = new();

            // Under the world's lock.
            private readonly List<(int[] Items, Call Gate)> _inFlight = [];
            private volatile bool _isDead;

            public Life(World world, int life, bool kills)
            {
                _world = world;
                _life = life;
                _mayDie = kills;
                world._disk.IsDead = () => _isDead;
                world._disk.Before = _ => MayDie(10);
            }

            /// <summary>Whether something has failed, or the caller has stopped the run.</summary>
            public bool LeavesItems { get; private set; }

            public TimeSpan DiedAt { get; private set; }

            public void Dispose()
            {
                _changed.Dispose();
                _noted.Dispose();
                _stop.Dispose();
            }

            public async Task<bool> LiveAsync()
            {
                Task run = RunAsync();
                while (!_isDead && !run.IsCompleted)
                {
                    if (_world.Next(2) == 0)
                    {
                        _world._clock.Advance(TimeSpan.FromMilliseconds(_world.Next(500)));
                    }

                    await Task.WhenAny(run, _changed.WaitAsync());
                    if (EndOne() && !_world.IsStream)
                    {
                        // What succeeds counts, also when the run stops already.
                        await _noted.WaitAsync();
                    }

                    MayDie(12);
                    if (_mayDie && !_isDead && _world.Next(30) == 0)
                    {
                        LeavesItems = true;
                        await _stop.CancelAsync();
                    }
                }

                if (!_isDead)
                {
                    try
                    {
                        await run;
                    }
                    catch (Exception e) when (LeavesItems && e is TestException or OperationCanceledException)
                    {
                    }

                    return false;
                }

                // What is left of the process must not reach the next one.
                await _stop.CancelAsync();
                while (!run.IsCompleted)
                {
                    EndOne();
                    await Task.WhenAny(run, _changed.WaitAsync(TimeSpan.FromMilliseconds(1)));
                }

                _ = run.Exception;
                return true;
            }

            private void MayDie(int oneIn)
            {
                if (_mayDie && !_isDead && _world.Next(oneIn) == 0)
                {
                    DiedAt = TimeSpan.FromTicks(_world._clock.GetTimestamp());
                    _isDead = true;
                }
            }

            // Whether an item or batch was ended that succeeds.
            private bool EndOne()
            {
                Call gate;
                bool fails;
                lock (_world._lock)
                {
                    if (_inFlight.Count == 0)
                    {
                        return false;
                    }

                    int at = _world.Next(_inFlight.Count);
                    (int[] items, gate) = _inFlight[at];
                    _inFlight.RemoveAt(at);
                    fails = _mayDie && _world.Next(15) == 0;
                    if (!fails && !_world.IsStream)
                    {
                        Note(items);
                    }
                }

                if (fails)
                {
                    LeavesItems = true;
                    gate.End(new TestException());
                }
                else
                {
                    gate.End(null);
                }

                return !fails;
            }

            private void Note(int[] items)
            {
                if (!_isDead)
                {
                    _world._effects.AddRange(items.Select(i => (i, TimeSpan.FromTicks(_world._clock.GetTimestamp()), _life)));
                }
            }

            private void NoteInStream(int item)
            {
                lock (_world._lock)
                {
                    Note([item]);
                }
            }

            private ValueTask CallAsync(params int[] items) => new(new Call(this, items), 0);

            private ValueTask<int> ResultAsync(int item) => new(new Call(this, [item]), 0);

            private async Task RunAsync()
            {
                Checkpoint checkpoint = new(new CheckpointFile("done", _world._disk)) { OnNoted = () => _noted.Release() };
                ParallelRunOptions options = new()
                {
                    MaxDegreeOfParallelism = _world._limit,
                    ErrorMode = _world.FailsFast ? ErrorMode.FailFast : ErrorMode.BestEffort,
                    TimeProvider = _world._clock,
                    OrderedOutput = _world._shape == Shape.OrderedStream,
                    Resume = checkpoint.OfVersion("items", "1"),
                };
                IEnumerable<int> items = _world._seed % 2 == 0 ? _world._items : _world._items.Select(static i => i);
                switch (_world._shape)
                {
                    case Shape.ForEach:
                        await items.ForEachParallelAsync((i, _) => CallAsync(i), options, _stop.Token);
                        break;

                    case Shape.List:
                        await items.SelectParallelAsync((i, _) => ResultAsync(i), options, _stop.Token);
                        break;

                    case Shape.Outcomes:
                        await items.SelectParallelOutcomesAsync((i, _) => ResultAsync(i), options, _stop.Token);
                        break;

                    case Shape.Stream or Shape.OrderedStream:
                        await foreach (int item in items.SelectParallelStreamAsync((i, _) => ResultAsync(i), options, cancellationToken: _stop.Token))
                        {
                            NoteInStream(item);
                        }

                        break;

                    case Shape.OutcomesStream:
                        await foreach ((_, ItemOutcome<int, int> outcome) in items.SelectParallelOutcomesStreamAsync((i, _) => ResultAsync(i), options, _stop.Token))
                        {
                            if (outcome.IsSuccess)
                            {
                                NoteInStream(outcome.Value);
                            }
                        }

                        break;

                    case Shape.Batches:
                        await items.ForEachBatchParallelAsync(3, (batch, _) => CallAsync([.. batch]), options, cancellationToken: _stop.Token);
                        break;

                    case Shape.AsyncBatches:
                        await InTurnAsync(items).ForEachBatchParallelAsync(
                            3, (batch, _) => CallAsync([.. batch]), options, TimeSpan.FromMinutes(1), cancellationToken: _stop.Token);
                        break;

                    case Shape.LaneBatches:
                        await items.PartitionBatchesBy(static batch => batch[0] % 5).ForEachBatchParallelAsync(
                            3, (batch, _) => CallAsync([.. batch]), options, cancellationToken: _stop.Token);
                        break;

                    case Shape.Keys:
                        // In another order each time.
                        int[] shuffled = [.. items];
                        _world.Shuffle(shuffled);
                        options = options with { Resume = checkpoint.By((int i) => $"item {i}\n") };
                        await shuffled.ForEachParallelAsync((i, _) => CallAsync(i), options, _stop.Token);
                        break;

                    case Shape.ChannelStream:
                        options = options with { Resume = checkpoint.By((int i) => i) };
                        await foreach (int item in Channeled(items).SelectParallelStreamAsync((i, _) => ResultAsync(i), options, cancellationToken: _stop.Token))
                        {
                            NoteInStream(item);
                        }

                        break;

                    case Shape.Lanes:
                        await items.PartitionBy(static i => i % 5).ForEachParallelAsync((i, _) => CallAsync(i), options, _stop.Token);
                        break;

                    default:
                        await OnARuntimeAsync(items, checkpoint.OfVersion("items", "1"));
                        break;
                }
            }

            private async Task OnARuntimeAsync(IEnumerable<int> items, Checkpoint checkpoint)
            {
                RuntimeOptions clock = new() { TimeProvider = _world._clock };
                await using IExecutionRuntime runtime = _world._shape switch
                {
                    Shape.Direct => new DirectRuntime(clock),
                    Shape.Parallel => new ParallelRuntime(_world._limit, clock),
                    Shape.Auto or Shape.AutoDecisions => new AutoRuntime(_world._limit, options: clock),
                    _ => (_world._seed % 4) switch
                    {
                        0 => new DirectRuntime(clock),
                        1 => new ParallelRuntime(_world._limit, clock),
                        2 => new AutoRuntime(_world._limit, options: clock),
                        _ => new ConcurrentRuntime(_world._limit, clock),
                    },
                };
                ProcessManyOptions call = new() { Policies = new ParallelRunOptions { Resume = checkpoint } };
                switch (_world._shape)
                {
                    case Shape.RuntimeStream or Shape.RuntimeOrderedStream:
                        await foreach ((_, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                            items, (i, _) => ResultAsync(i), _world._shape == Shape.RuntimeOrderedStream, call, _stop.Token))
                        {
                            if (outcome.IsSuccess)
                            {
                                NoteInStream(outcome.Value);
                            }
                        }

                        break;

                    case Shape.RuntimeOfAsync:
                        await runtime.ProcessManyAsync(InTurnAsync(items), (i, _) => ResultAsync(i), call, _stop.Token);
                        break;

                    case Shape.RuntimeOfChannel:
                        call = call with { Policies = new ParallelRunOptions { Resume = checkpoint.By((int i) => i) } };
                        await runtime.ProcessManyAsync(Channeled(items), (i, _) => ResultAsync(i), call, _stop.Token);
                        break;

                    case Shape.RuntimeLanes:
                        await runtime.ProcessManyAsync(items.PartitionBy(static i => i % 5), (i, _) => ResultAsync(i), call, _stop.Token);
                        break;

                    case Shape.AutoDecisions:
                        await ((AutoRuntime)runtime).ProcessManyWithDecisionsAsync(items, (i, _) => ResultAsync(i), call, _stop.Token);
                        break;

                    default:
                        await runtime.ProcessManyAsync(items, (i, _) => ResultAsync(i), call, _stop.Token);
                        break;
                }
            }

            private static async IAsyncEnumerable<int> InTurnAsync(IEnumerable<int> items)
            {
                foreach (int item in items)
                {
                    await Task.Yield();
                    yield return item;
                }
            }

            private ChannelReader<int> Channeled(IEnumerable<int> items)
            {
                int[] shuffled = [.. items];
                _world.Shuffle(shuffled);
                Channel<int> channel = Channel.CreateUnbounded<int>();
                foreach (int item in shuffled)
                {
                    channel.Writer.TryWrite(item);
                }

                channel.Writer.Complete();
                return channel.Reader;
            }

            /// <summary>A call that the test can end only once the run waits for it. So its end has reached the run when the test goes on.</summary>
            private sealed class Call(Life life, int[] items) : IValueTaskSource<int>, IValueTaskSource
            {
                private ManualResetValueTaskSourceCore<int> _core;

                public void End(Exception? failure)
                {
                    if (failure is null)
                    {
                        _core.SetResult(items[0]);
                    }
                    else
                    {
                        _core.SetException(failure);
                    }
                }

                public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

                public int GetResult(short token) => _core.GetResult(token);

                void IValueTaskSource.GetResult(short token) => _core.GetResult(token);

                public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
                {
                    _core.OnCompleted(continuation, state, token, flags);
                    lock (life._world._lock)
                    {
                        life._inFlight.Add((items, this));
                    }

                    life._changed.Release();
                }
            }
        }
    }
}
