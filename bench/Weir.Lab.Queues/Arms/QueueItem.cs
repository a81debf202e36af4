namespace Weir.Lab.Queues.Arms;

/// <summary>What goes through a queue: about 100 bytes, one item a message.</summary>
/// <param name="Number">Which of the items it is: from 0.</param>
/// <param name="Text">The rest of its bytes.</param>
public sealed record QueueItem(int Number, string Text)
{
    private static readonly string Rest = new('x', 80);

    /// <summary>Makes an item.</summary>
    public static QueueItem Of(int number) => new(number, Rest);
}
