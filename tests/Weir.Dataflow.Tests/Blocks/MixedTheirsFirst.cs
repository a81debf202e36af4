namespace Weir.Dataflow.Tests.Blocks;

/// <summary>Theirs, ours, theirs...</summary>
public sealed class MixedTheirsFirst() : MixedBlocks(oursFirst: false);
