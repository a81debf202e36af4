namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Ours, theirs, ours...</summary>
public sealed class MixedOursFirst() : MixedBlocks(oursFirst: true);
