using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Stress;

/// <summary>Layers of random blocks, each linked to some of the next layer, with producers above and one collector below.</summary>
public sealed class RandomNetwork : IDisposable
{
    private readonly Random _random;
    private readonly BlockFactory _blocks;
    private readonly CancellationTokenSource _cancel = new();
    private readonly List<List<(ITargetBlock<Message> Target, ISourceBlock<Message> Source)>> _layers = [];
    private readonly List<IDataflowBlock> _all = [];
    private readonly List<Action> _drains = [];
    private readonly List<string> _shape = [];
    private readonly ConcurrentQueue<Message> _seen = new();
    private readonly ITargetBlock<Message> _collector;
    private readonly Ending _ending;
    private readonly int _producers;
    private readonly int _messages;
    private readonly int _strikeAt;
    private bool _ordered = true;
    private int _moves;
    private int _struck;
    private int _passed;

    public RandomNetwork(int seed, BlockFactory blocks)
    {
        _random = new Random(seed);
        _blocks = blocks;
        _ending = _random.Next(5) switch { 0 => Ending.Cancelled, 1 => Ending.Faulted, 2 => Ending.DelegateThrew, _ => Ending.Completed };
        _producers = _random.Next(1, 4);
        _messages = _random.Next(1, 200);
        _strikeAt = _random.Next(_producers * _messages);
        int layers = _random.Next(1, 5);
        for (int i = 0; i < layers; i++)
        {
            int width = _random.Next(4) == 0 ? _random.Next(2, 4) : 1;
            _ordered &= width == 1;
            _layers.Add([.. Enumerable.Range(0, width).Select(_ => Block())]);
        }

        _collector = Keep(_blocks.Action<Message>(Collect, Execution(degree: 1)), "collector");
        Link();
    }

    public override string ToString() => $"{_ending} at {_strikeAt}, {_producers} x {_messages}: {string.Join(" ", _shape)}";

    public void Dispose() => _cancel.Dispose();

    public async Task Run()
    {
        Task<int>[] producers = [.. Enumerable.Range(0, _producers).Select(p => Task.Run(() => Produce(p)))];
        Task ends = Chain();
        int sent = (await Within(Task.WhenAll(producers), "A producer hangs.")).Sum();
        foreach ((ITargetBlock<Message> target, _) in _layers[0])
        {
            target.Complete();
        }

        await Within(ends.ContinueWith(static _ => 0, TaskScheduler.Default), "A block never ends.");
        Check(sent);
    }

    private void Check(int sent)
    {
        Message[] seen = [.. _seen];
        if (_ending != Ending.Completed && _all.Exists(static b => b.GetType().Assembly != typeof(BufferBlock<>).Assembly))
        {
            // Microsoft's blocks empty their queue of one reader from the thread that faults them while the worker reads it, which then may read
            // a place that is cleared already: a message that nobody sent, default(T).
            seen = [.. seen.Where(static m => m != default)];
        }

        Assert.DoesNotContain(default(Message), seen);
        IEnumerable<Message> twice = seen.GroupBy(static m => m).Where(static g => g.Count() > 1).Select(static g => g.Key);
        Assert.True(!twice.Any(), $"Came more than once: {string.Join(", ", twice)}.");
        if (_ending == Ending.Completed)
        {
            Assert.Equal(_producers * _messages, sent);
            Assert.Equal(sent, seen.Length);
            Assert.All(_all, static b => Assert.Equal(TaskStatus.RanToCompletion, b.Completion.Status));
        }

        if (_ordered)
        {
            Assert.All(seen.GroupBy(static m => m.Producer), static g => Assert.Equal(g.Select(static m => m.Number).Order(), g.Select(static m => m.Number)));
        }

        foreach (IDataflowBlock block in _all)
        {
            Assert.True(block.Completion.IsCompleted);
            foreach (string count in new[] { "InputCount", "OutputCount", "Count" })
            {
                Assert.Equal(0, block.GetType().GetProperty(count)?.GetValue(block) ?? 0);
            }
        }
    }

    private async Task<int> Produce(int producer)
    {
        int sent = 0;
        ITargetBlock<Message> entry = _layers[0][producer % _layers[0].Count].Target;
        for (int i = 0; i < _messages; i++)
        {
            Interlocked.Increment(ref _moves);

            // From 1: default(Message) is one that nobody sent.
            var message = new Message(producer, i + 1);
            if ((i & 3) == 0 && entry.Post(message))
            {
                sent++;
            }
            else if (await entry.SendAsync(message))
            {
                sent++;
            }
            else
            {
                break;
            }
        }

        return sent;
    }

    /// <summary>Completes each layer when the one above has ended; whatever ends badly ends everything.</summary>
    private Task Chain()
    {
        foreach (IDataflowBlock block in _all)
        {
            block.Completion.ContinueWith(
                t => EndBadly(t.Exception),
                CancellationToken.None,
                TaskContinuationOptions.NotOnRanToCompletion,
                TaskScheduler.Default);
        }

        for (int i = 0; i < _layers.Count; i++)
        {
            IEnumerable<IDataflowBlock> next = i + 1 < _layers.Count ? _layers[i + 1].Select(static b => b.Target) : [_collector];
            Task.WhenAll(_layers[i].Select(static b => b.Source.Completion)).ContinueWith(
                _ => next.ToList().ForEach(static b => b.Complete()),
                TaskScheduler.Default);
        }

        return Task.WhenAll(_all.Select(static b => b.Completion));
    }

    private void EndBadly(Exception? error)
    {
        if (error is not null)
        {
            _all.ForEach(b => b.Fault(error));
        }

        // A completed block no longer hears of faults, and nobody below takes its messages any more.
        _drains.ForEach(static d => d());
    }

    private void Collect(Message message)
    {
        Interlocked.Increment(ref _moves);
        Strike();
        _seen.Enqueue(message);
    }

    private Message Pass(Message message)
    {
        if ((message.Number & 31) == 0)
        {
            Thread.SpinWait(200);
        }

        return message;
    }

    /// <summary>At its moment, ends the network the way it is to end.</summary>
    private void Strike()
    {
        if (_ending == Ending.Completed || Interlocked.Increment(ref _passed) <= _strikeAt || Interlocked.Exchange(ref _struck, 1) == 1)
        {
            return;
        }

        switch (_ending)
        {
            case Ending.Cancelled:
                _cancel.Cancel();
                break;
            case Ending.Faulted:
                _all[_strikeAt % _all.Count].Fault(new FormatException("strike"));
                break;
            default:
                throw new FormatException("strike");
        }
    }

    private void Link()
    {
        for (int i = 0; i < _layers.Count; i++)
        {
            ITargetBlock<Message>[] next = i + 1 < _layers.Count ? [.. _layers[i + 1].Select(static b => b.Target)] : [_collector];
            foreach ((_, ISourceBlock<Message> source) in _layers[i])
            {
                _drains.Add(() => source.LinkTo(DataflowBlock.NullTarget<Message>()));
                if (next.Length > 1 && _random.Next(2) == 0)
                {
                    source.LinkTo(next[0], static m => m.Number % 2 == 0);
                }

                foreach (ITargetBlock<Message> target in next.Skip(_random.Next(next.Length)))
                {
                    source.LinkTo(target);
                }
            }
        }
    }

    private (ITargetBlock<Message> Target, ISourceBlock<Message> Source) Block()
    {
        switch (_random.Next(7))
        {
            case 0:
                return Both(Keep(_blocks.Buffer<Message>(new DataflowBlockOptions { BoundedCapacity = Bound(), CancellationToken = _cancel.Token }), "buffer"));
            case 1:
                return Both(Keep(_blocks.Transform<Message, Message>(Pass, Execution()), "transform"));
            case 2:
                return Both(Keep(_blocks.TransformAsync<Message, Message>(Yielding, Execution()), "transformAsync"));
            case 3:
                return Both(Keep(_blocks.TransformAsync<Message, Message>(m => Task.FromResult(Pass(m)), Execution()), "transformDone"));
            case 4:
                return Both(Keep(_blocks.Many<Message, Message>(m => [Pass(m)], Execution()), "many"));
            case 5:
                return Both(Keep(_blocks.ManyStream<Message, Message>(Stream, Execution()), "manyStream"));
            default:
                int size = _random.Next(1, 5);
                var options = new GroupingDataflowBlockOptions
                {
                    CancellationToken = _cancel.Token, BoundedCapacity = _random.Next(2) == 0 ? -1 : size + _random.Next(3),
                };
                IPropagatorBlock<Message, Message[]> batch = Keep(_blocks.Batch<Message>(size, options), $"batch{size}");
                IPropagatorBlock<Message[], Message> apart = Keep(_blocks.Many<Message[], Message>(static b => b, Execution()), "apart");
                _drains.Add(() => batch.LinkTo(DataflowBlock.NullTarget<Message[]>()));
                batch.LinkTo(apart, new DataflowLinkOptions { PropagateCompletion = true });
                return (batch, apart);
        }
    }

    private static (ITargetBlock<Message>, ISourceBlock<Message>) Both(IPropagatorBlock<Message, Message> block) => (block, block);

    private async Task<Message> Yielding(Message message)
    {
        await Task.Yield();
        return Pass(message);
    }

    private async IAsyncEnumerable<Message> Stream(Message message)
    {
        if (message.Number % 3 == 0)
        {
            await Task.Yield();
        }

        yield return Pass(message);
    }

    // From 16 on, an action's worker gives room back without the gate.
    private int Bound() => _random.Next(8) switch
    {
        0 or 1 => DataflowBlockOptions.Unbounded,
        2 or 3 => _random.Next(16, 21),
        _ => _random.Next(1, 6),
    };

    private ExecutionDataflowBlockOptions Execution(int? degree = null)
    {
        var options = new ExecutionDataflowBlockOptions
        {
            BoundedCapacity = Bound(),
            MaxDegreeOfParallelism = degree ?? _random.Next(1, 4),
            EnsureOrdered = _random.Next(4) != 0,
            MaxMessagesPerTask = _random.Next(3) == 0 ? _random.Next(1, 4) : DataflowBlockOptions.Unbounded,
            CancellationToken = _cancel.Token,
        };
        _ordered &= options.EnsureOrdered || options.MaxDegreeOfParallelism == 1;
        return options;
    }

    private T Keep<T>(T block, string name) where T : IDataflowBlock
    {
        _all.Add(block);
        _shape.Add($"{name}({block.GetType().Assembly.GetName().Name![0]})");
        return block;
    }

    private async Task<T> Within<T>(Task<T> task, string what)
    {
        while (true)
        {
            int before = Volatile.Read(ref _moves);
            try
            {
                return await task.WaitAsync(Eventually.Patience);
            }
            catch (TimeoutException) when (Volatile.Read(ref _moves) != before)
            {
                // Thousands of hops from one thread to another take long on a busy machine. What hangs does not move.
            }
            catch (TimeoutException)
            {
                IEnumerable<string> states = _all.Select(static b => $"{b} {b.Completion.Status}");
                throw new TimeoutException($"{what} {string.Join("; ", states)}");
            }
        }
    }
}
