namespace Weir.PostgreSql;

/// <summary>Changes that are delivered and acknowledged together: several transactions, a part of one, or only a position.</summary>
/// <param name="items">The changes.</param>
/// <param name="end">Where the stream is when they are done.</param>
/// <param name="waits">Whether everything before has to be acknowledged first.</param>
/// <param name="failed">Changes that would be among them, and could not be read.</param>
internal sealed class ChangeBatch<T>(IReadOnlyList<WorkItem<T>> items, ChangePosition end, bool waits, IReadOnlyList<DeadLetter> failed)
    : WorkBatch<T>(items, end.ToString())
{
    private volatile bool _isAcknowledged;

    public ChangePosition End => end;

    public bool Waits => waits;

    public IReadOnlyList<DeadLetter> Failed => failed;

    /// <summary>Where the stream was before; known when it is delivered.</summary>
    public ChangePosition Start { get; set; }

    /// <summary>Its number among those that the source has delivered, from 1.</summary>
    public long Number { get; set; }

    /// <summary>The source that delivered it and waits for its acknowledgement; null before and after.</summary>
    public object? Owner { get; set; }

    public bool IsAcknowledged
    {
        get => _isAcknowledged;
        set => _isAcknowledged = value;
    }
}
