using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Contracts;

namespace Weir.Dataflow.Tests.Runs;

public sealed class WeirArguments : ArgumentContract<WeirBlocks>;

public sealed class WeirOffers : OfferContract<WeirBlocks>;

public sealed class WeirNames : NamesContract<WeirBlocks>;

public sealed class WeirPostponing : PostponeContract<WeirBlocks>;

public sealed class WeirSources : SourceProtocolContract<WeirBlocks>;

public sealed class WeirLinks : LinkContract<WeirBlocks>;

public sealed class WeirPropagation : PropagationContract<WeirBlocks>;

public sealed class WeirCompletion : CompletionContract<WeirBlocks>;

public sealed class WeirExecution : ExecutionContract<WeirBlocks>;

public sealed class WeirParallel : ParallelContract<WeirBlocks>;

public sealed class WeirSequences : SequenceContract<WeirBlocks>;

public sealed class WeirBounding : BoundingContract<WeirBlocks>;

public sealed class WeirSchedulers : SchedulerContract<WeirBlocks>
{
    protected override bool AsksSchedulerWithoutLinks => false;
}

public sealed class WeirReceiving : ReceiveContract<WeirBlocks>;

public sealed class WeirBroadcast : BroadcastContract<WeirBlocks>;

public sealed class WeirWriteOnce : WriteOnceContract<WeirBlocks>;

public sealed class WeirBatch : BatchContract<WeirBlocks>;

public sealed class WeirJoins : JoinContract<WeirBlocks>;

public sealed class WeirExtensions : ExtensionsContract<WeirBlocks>;

public sealed class WeirNetworks : NetworkContract<WeirBlocks>;

public sealed class WeirDifferential : Differential.DifferentialContract<WeirBlocks>;

public sealed class WeirStress : Stress.NetworkStress<WeirBlocks>;

public sealed class WeirFailures : FailureContract<WeirBlocks>;

public sealed class WeirDepth : DepthContract<WeirBlocks>;

public sealed class WeirTransit : TransitContract<WeirBlocks>
{
    protected override bool EndWaitsForOffer => false;
}
