namespace Weir.TestKit;

/// <summary>What a source does.</summary>
public sealed record SourcePlan
{
    public SourceRecord Record { get; } = new();

    /// <summary>How many items there are; null for no end.</summary>
    public int? Count { get; init; }

    /// <summary>The index at which a step throws instead.</summary>
    public int? ThrowsAt { get; init; }

    /// <summary>Whether the source throws when it is asked for its enumerator.</summary>
    public bool ThrowsOnOpen { get; init; }

    /// <summary>Whether the source throws when its enumerator is disposed.</summary>
    public bool ThrowsOnClose { get; init; }

    /// <summary>The index before which the source waits, with its thread when it is a synchronous one.</summary>
    public int? WaitsAt { get; init; }

    /// <summary>What the source waits for.</summary>
    public Gate? Gate { get; init; }

    /// <summary>Whether the source goes on waiting when its token is cancelled.</summary>
    public bool IgnoresToken { get; init; }

    internal bool Has(int index) => Count is not { } count || index < count;

    /// <summary>A step of a sequence whose read has begun: the next item. After the end, and after a step that throws, no other step is allowed.</summary>
    internal int Step(ref int next, ref bool ended, bool waits = false)
    {
        try
        {
            if (waits)
            {
                Gate!.Wait();
            }

            Check(next);
            ended = !Has(next);
            return next++;
        }
        catch
        {
            ended = true;
            throw;
        }
        finally
        {
            Record.EndRead();
        }
    }

    internal void Check(int index)
    {
        if (index == ThrowsAt)
        {
            ThrowAtStep();
        }
    }

    internal void Open()
    {
        Record.Open();
        if (ThrowsOnOpen)
        {
            // Nothing was opened, so nothing will be closed.
            Record.Close();
            throw new TestException("open");
        }
    }

    internal void Close()
    {
        Record.Close();
        if (ThrowsOnClose)
        {
            throw new TestException("close");
        }
    }

    // A method of its own, whose name a test finds in the stack trace.
    private static void ThrowAtStep() => throw new TestException("step");
}
