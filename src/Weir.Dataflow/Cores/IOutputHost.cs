namespace Weir.Dataflow.Cores;

/// <summary>The rest of the block, as its output side sees it.</summary>
internal interface IOutputHost<in T>
{
    /// <summary>How many messages of the block's capacity this output stands for.</summary>
    int CountOf(T item);

    /// <summary>Outputs left a bounded block. Called under no lock, though perhaps while a target is being offered to.</summary>
    void OutputLeft(int weight);

    /// <summary>A target threw: the block fails. The exception is noted already.</summary>
    void OutputFailed();

    /// <summary>The block is complete.</summary>
    void OutputCompleted();
}
