using Weir.Dataflow.Tests.Blocks;
using Weir.Dataflow.Tests.Contracts;

namespace Weir.Dataflow.Tests.Runs;

public sealed class MixedOursFirstPropagation : PropagationContract<MixedOursFirst>;

public sealed class MixedTheirsFirstPropagation : PropagationContract<MixedTheirsFirst>;

public sealed class MixedOursFirstBroadcast : BroadcastContract<MixedOursFirst>;

public sealed class MixedTheirsFirstBroadcast : BroadcastContract<MixedTheirsFirst>;

public sealed class MixedOursFirstBatch : BatchContract<MixedOursFirst>;

public sealed class MixedTheirsFirstBatch : BatchContract<MixedTheirsFirst>;

public sealed class MixedOursFirstJoins : JoinContract<MixedOursFirst>;

public sealed class MixedTheirsFirstJoins : JoinContract<MixedTheirsFirst>;

public sealed class MixedOursFirstExtensions : ExtensionsContract<MixedOursFirst>;

public sealed class MixedTheirsFirstExtensions : ExtensionsContract<MixedTheirsFirst>;

public sealed class MixedOursFirstNetworks : NetworkContract<MixedOursFirst>;

public sealed class MixedTheirsFirstNetworks : NetworkContract<MixedTheirsFirst>;

public sealed class MixedOursFirstStress : Stress.NetworkStress<MixedOursFirst>;

public sealed class MixedTheirsFirstStress : Stress.NetworkStress<MixedTheirsFirst>;

public sealed class MixedOursFirstTransit : TransitContract<MixedOursFirst>;

public sealed class MixedTheirsFirstTransit : TransitContract<MixedTheirsFirst>;
