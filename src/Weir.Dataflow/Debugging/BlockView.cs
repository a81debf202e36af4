using System.Globalization;
using System.Text;

namespace Weir.Dataflow.Debugging;

/// <summary>What a debugger shows of a block: its state when the view is created.</summary>
/// <remarks>
/// The state is read without a lock, because a debugger has stopped all threads, and one of them may hold one of the block's locks. If other threads run, the
/// counts need not fit each other.
/// </remarks>
internal sealed class BlockView
{
    public BlockView(IViewable block)
    {
        block.Show(this);
        Name = block.ToString()!;
    }

    /// <summary>What the block's ToString says.</summary>
    public string Name { get; }

    /// <summary>The block's options, as they were at its construction.</summary>
    public object? Options { get; set; }

    public bool IsCompleted { get; set; }

    /// <summary>Whether the block accepts no more messages. Null for a block that has several inputs.</summary>
    public bool? IsDeclining { get; set; }

    public int? BatchSize { get; set; }

    /// <summary>The messages that wait to be processed. Null for a block that has no queue for them.</summary>
    public Array? Input { get; set; }

    /// <summary>How many sources and pending sends wait for room.</summary>
    public int? PostponedCount { get; set; }

    /// <summary>The messages that wait to be taken. Null for a block that has no output.</summary>
    public Array? Output { get; set; }

    /// <summary>Whether there is a message for everybody. Null for a block whose messages are taken away.</summary>
    public bool? HasValue { get; set; }

    /// <summary>The message that is for everybody.</summary>
    public object? Value { get; set; }

    public object[]? LinkedTargets { get; set; }

    /// <summary>The target that has reserved the next message.</summary>
    public object? ReservedFor { get; set; }

    /// <summary>The view in one line.</summary>
    public override string ToString()
    {
        StringBuilder text = new(Name);
        Append(text, "BatchSize", BatchSize);
        Append(text, "InputCount", Input?.Length);
        Append(text, "OutputCount", Output?.Length);
        Append(text, "HasValue", HasValue);
        return text.ToString();
    }

    private static void Append(StringBuilder text, string name, object? value)
    {
        if (value is not null)
        {
            text.Append(CultureInfo.InvariantCulture, $", {name}={value}");
        }
    }
}

/// <summary>A block, or a part of one, that a debugger can look into.</summary>
internal interface IViewable
{
    /// <summary>Fills in what this part knows. Takes no lock and waits for nobody.</summary>
    void Show(BlockView view);
}
