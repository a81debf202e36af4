namespace Weir.Dataflow.Cores;

/// <summary>The rest of the block, as its output side sees it.</summary>
internal interface IOutputHost
{
    /// <summary>Whether an output is an array, each of whose items counts for the block's capacity. Otherwise the output counts as one message.</summary>
    bool CountsItems => false;

    /// <summary>Outputs left a bounded block. Called under no lock, though perhaps while a target is being offered to.</summary>
    void OutputLeft(int weight);

    /// <summary>A target threw: the block fails. The exception is noted already.</summary>
    void OutputFailed();

    /// <summary>The block is complete.</summary>
    void OutputCompleted();
}
