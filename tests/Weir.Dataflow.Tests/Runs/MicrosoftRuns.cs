// Built in by eng/nightly alone: theirs change only with the framework.
#if ORACLE
using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Contracts;

namespace Weir.Dataflow.Tests.Runs;

// The oracle: what a contract states is what Microsoft's blocks do. Overrides name the issue where they do wrong.
public sealed class MicrosoftArguments : ArgumentContract<MicrosoftBlocks>;

public sealed class MicrosoftOffers : OfferContract<MicrosoftBlocks>;

public sealed class MicrosoftNames : NamesContract<MicrosoftBlocks>;

public sealed class MicrosoftPostponing : PostponeContract<MicrosoftBlocks>;

public sealed class MicrosoftSources : SourceProtocolContract<MicrosoftBlocks>;

public sealed class MicrosoftLinks : LinkContract<MicrosoftBlocks>
{
    protected override bool GoesOnAfterLinkInOffer => false;

    // Theirs offers the head again while the end of the input is on its way to the output: thousands of times on a bad day.
    protected override bool AsksOnceIfAPredicateThrows => false;
}

public sealed class MicrosoftPropagation : PropagationContract<MicrosoftBlocks>;

public sealed class MicrosoftCompletion : CompletionContract<MicrosoftBlocks>
{
    protected override bool CancelAfterCompleteEnds => false;
}

public sealed class MicrosoftExecution : ExecutionContract<MicrosoftBlocks>;

public sealed class MicrosoftParallel : ParallelContract<MicrosoftBlocks>;

public sealed class MicrosoftSequences : SequenceContract<MicrosoftBlocks>
{
    // Theirs decides when a sequence begins: it streams if it is the message's turn, and otherwise it is read to its end first, however long it is.
    protected override bool StreamsFromItsTurnOn => false;

    protected override bool KeepsBound => false;

    protected override bool EndStopsSequences => false;
}

public sealed class MicrosoftBounding : BoundingContract<MicrosoftBlocks>;

public sealed class MicrosoftSchedulers : SchedulerContract<MicrosoftBlocks>;

public sealed class MicrosoftReceiving : ReceiveContract<MicrosoftBlocks>;

public sealed class MicrosoftBroadcast : BroadcastContract<MicrosoftBlocks>;

public sealed class MicrosoftWriteOnce : WriteOnceContract<MicrosoftBlocks>;

public sealed class MicrosoftBatch : BatchContract<MicrosoftBlocks>;

public sealed class MicrosoftJoins : JoinContract<MicrosoftBlocks>;

public sealed class MicrosoftExtensions : ExtensionsContract<MicrosoftBlocks>;

public sealed class MicrosoftNetworks : NetworkContract<MicrosoftBlocks>;

/// <summary>Theirs against theirs: shows that a difference is one of behaviour, not of timing.</summary>
public sealed class MicrosoftDifferential : Differential.DifferentialContract<MicrosoftBlocks>;

public sealed class MicrosoftStress : Stress.NetworkStress<MicrosoftBlocks>;

public sealed class MicrosoftFailures : FailureContract<MicrosoftBlocks>
{
    // Theirs sends out one by one what the message gives whose turn it is, and makes a list of what the others give: if that fails, there is no list.
    protected override bool KeepsItsPartBeforeItsTurn => false;
}

public sealed class MicrosoftDepth : DepthContract<MicrosoftBlocks>;

public sealed class MicrosoftTransit : TransitContract<MicrosoftBlocks>;
#endif
