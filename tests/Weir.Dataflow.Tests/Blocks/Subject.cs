using System.Collections;
using System.Runtime.CompilerServices;
using Weir.Dataflow.Tests.Probes;

namespace Weir.Dataflow.Tests.Blocks;

/// <summary>A block of any kind, seen through what all kinds have in common: strings go in, something comes out.</summary>
public sealed class Subject(BlockKind kind, IDataflowBlock block, ITargetBlock<string>[] inputs, ISourceBlock<object>? output, Func<object?>? take)
{
    public BlockKind Kind => kind;

    public IDataflowBlock Block => block;

    public Task Completion => block.Completion;

    public ITargetBlock<string>[] Inputs => inputs;

    public ITargetBlock<string> Input => inputs[0];

    public ISourceBlock<object> Output => output ?? throw new InvalidOperationException("No output.");

    /// <summary>What is in the block and has not come out as a message, or null where the block does not tell.</summary>
    public int? InputCount => Count("InputCount");

    /// <summary>Messages ready to be taken, or null where the block does not tell.</summary>
    public int? OutputCount => Count("OutputCount") ?? Count("Count");

    /// <summary>Takes a message if there is one.</summary>
    public object? Take() => take?.Invoke();

    public bool Has(int outputs) => OutputCount is not { } count || count == outputs;

    /// <summary>Posts what makes exactly one message of output.</summary>
    public bool Feed(string item)
    {
        if (kind is not (BlockKind.Join2 or BlockKind.Join3))
        {
            return Input.Post(item);
        }

        bool all = true;
        foreach (ITargetBlock<string> input in inputs)
        {
            all &= input.Post(item);
        }

        return all;
    }

    /// <summary>Feeds one after the other, each of which the block has to take.</summary>
    public void FeedAll(params IEnumerable<string> items) => Assert.All(items, item => Assert.True(Feed(item), $"{kind} refused {item}."));

    /// <summary>The same with the numbers from 0 on.</summary>
    public void FeedNumbers(int count) => FeedAll(Enumerable.Range(0, count).Select(static i => $"{i}"));

    public void End(EndingOf ending, CancellationTokenSource cancel)
    {
        if (ending <= EndingOf.ThirdTarget)
        {
            inputs[(int)ending].Complete();
        }
        else
        {
            block.End(ending, cancel);
        }
    }

    /// <summary>The strings inside an output message.</summary>
    public static string[] Strings(object? message) => message switch
    {
        null => [],
        string s => [s],
        ITuple tuple => [.. Enumerable.Range(0, tuple.Length).SelectMany(i => Strings(tuple[i]))],
        IEnumerable items => [.. items.Cast<object>().SelectMany(Strings)],
        _ => [message.ToString()!],
    };

    private int? Count(string member) => (int?)block.GetType().GetProperty(member)?.GetValue(block);
}
