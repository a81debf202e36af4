using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Stress;

/// <summary>
/// One block that puts messages together, some buffers that it takes them from, and an end at a random moment that loses nothing: of a buffer, of a target, of
/// the block, or by the last group. What a buffer no longer has afterwards was taken from it, and must have come out.
/// </summary>
public sealed class RandomGroups
{
    private readonly BlockKind _kind;
    private readonly bool _greedy;
    private readonly int _bound;
    private readonly int _batch;
    private readonly int _groups;
    private readonly int _messages;
    private readonly int _ending;
    private readonly int _spins;
    private readonly int _rest;
    private readonly bool _linked;
    private readonly bool _propagates;
    private readonly Subject _subject;
    private readonly IPropagatorBlock<string, string>[] _buffers;

    public RandomGroups(int seed, BlockFactory blocks)
    {
        Random random = new(seed);
        _kind = random.Next(5) switch
        {
            0 => BlockKind.Batch, 1 => BlockKind.Join2, 2 => BlockKind.Join3, 3 => BlockKind.BatchedJoin2, _ => BlockKind.BatchedJoin3,
        };
        bool batched = _kind is BlockKind.BatchedJoin2 or BlockKind.BatchedJoin3;
        _greedy = batched || random.Next(3) == 0;
        _batch = random.Next(1, 4);
        _bound = batched || random.Next(2) == 0 ? DataflowBlockOptions.Unbounded : random.Next(_batch, 6);
        _messages = random.Next(1, 12);
        _groups = random.Next(3) == 0 ? random.Next(1, _messages + 1) : DataflowBlockOptions.Unbounded;
        _spins = random.Next(4) == 0 ? 0 : random.Next(4000);
        _rest = random.Next(3) == 0 ? 0 : random.Next(20_000);
        _linked = random.Next(2) == 0;
        _propagates = random.Next(2) == 0;
        BlockSettings settings = new() { Greedy = _greedy, Bound = _bound, BatchSize = _batch, Groups = _groups };
        _subject = blocks.Create(_kind, settings);
        int sources = _kind == BlockKind.Batch ? random.Next(_greedy ? 1 : _batch, 4) : _subject.Inputs.Length;
        _ending = random.Next(_subject.Inputs.Length + 2);
        _buffers = [.. Enumerable.Range(0, sources).Select(_ => blocks.Buffer<string>())];
    }

    public override string ToString() =>
        $"{_kind} greedy={_greedy} bound={_bound} batch={_batch} groups={_groups} messages={_messages} sources={_buffers.Length} "
        + $"ending={_ending} spins={_spins} linked={_linked} propagates={_propagates}";

    public async Task Run()
    {
        ConcurrentQueue<string[]> seen = new();
        System.Threading.Tasks.Dataflow.ActionBlock<object> collector = new(message => seen.Enqueue(Subject.Strings(message)));
        if (_linked)
        {
            _subject.Output.LinkTo(collector, new DataflowLinkOptions { PropagateCompletion = true });
        }
        else
        {
            collector.Complete();
        }

        for (int i = 0; i < _buffers.Length; i++)
        {
            _buffers[i].LinkTo(Input(i), new DataflowLinkOptions { PropagateCompletion = _propagates && _kind != BlockKind.Batch });
        }

        using Barrier start = new(_buffers.Length + 1);
        Task[] feeds =
        [
            .. Enumerable.Range(0, _buffers.Length).Select(i => Task.Factory.StartNew(() => Feed(i, start), TaskCreationOptions.LongRunning)),
        ];
        start.SignalAndWait();
        Thread.SpinWait(_spins);
        End();
        await Task.WhenAll(feeds).WaitAsync(Eventually.Patience);
        Thread.SpinWait(_rest);
        _subject.Block.Complete();
        Eventually.True(() => { TakeAll(seen); return _subject.Completion.IsCompleted; }, "The block never ends.");
        Assert.Equal(TaskStatus.RanToCompletion, await Eventually.Status(_subject.Completion));
        await Eventually.Done(collector.Completion);
        Check([.. seen]);
    }

    private ITargetBlock<string> Input(int buffer) => _subject.Inputs[buffer % _subject.Inputs.Length];

    private void Feed(int buffer, Barrier start)
    {
        start.SignalAndWait();
        for (int i = 0; i < _messages; i++)
        {
            Assert.True(_buffers[buffer].Post($"{buffer} {i}"));
        }

        if (_propagates)
        {
            _buffers[buffer].Complete();
        }
    }

    private void End()
    {
        if (_ending < _subject.Inputs.Length)
        {
            _subject.Inputs[_ending].Complete();
        }
        else if (_ending == _subject.Inputs.Length)
        {
            _subject.Block.Complete();
        }
    }

    private void TakeAll(ConcurrentQueue<string[]> seen)
    {
        while (!_linked && _subject.Take() is { } message)
        {
            seen.Enqueue(Subject.Strings(message));
        }
    }

    private void Check(string[][] groups)
    {
        string[] all = [.. groups.SelectMany(static g => g)];
        int[] taken = new int[_buffers.Length];
        for (int i = 0; i < _buffers.Length; i++)
        {
            string[] mine = [.. all.Where(s => s.StartsWith($"{i} ", StringComparison.Ordinal))];

            // In order, each once, none left out.
            Assert.Equal(Enumerable.Range(0, mine.Length).Select(n => $"{i} {n}"), mine);
            taken[i] = _messages - _buffers[i].Receivable().Left();
        }

        if (_kind is BlockKind.Join2 or BlockKind.Join3)
        {
            Assert.All(groups, static g => Assert.Single(g.Select(static s => s[2..]).Distinct()));
            Assert.Equal(taken.Min(), groups.Length);
            Assert.True(_greedy || taken.Distinct().Count() == 1, $"It has kept messages: {string.Join(", ", taken)}.");
        }
        else
        {
            Assert.Equal(taken.Sum(), all.Length);
        }
    }
}
