namespace Weir.Dataflow.Sync;

/// <summary>
/// What a locked region leaves to be done when there was no memory to store a message: nothing was stored, and the sender is told once no lock is
/// held. So nothing throws under a lock, and the locks need nothing that would cost each message something.
/// </summary>
internal sealed class NoMemory : IAfterLock
{
    public static readonly NoMemory Instance = new();

    private NoMemory()
    {
    }

    /// <summary>What is thrown, or fails a block where nobody waits for an answer.</summary>
    public static Exception Exception() => new InsufficientMemoryException("There is no memory to store a message.");

    public void AfterLock() => throw Exception();
}
