using Weir.Lab.Network;

namespace Weir.Audit;

/// <summary>The participants of an audit, and the faults that happen to them.</summary>
internal sealed class AuditScene : IAsyncDisposable
{
    private const string Server = "PostgreSQL";
    private const string Broker = "RabbitMQ";
    private const int AmqpPort = 5672;
    private static readonly FaultKind[] OfProcesses = [FaultKind.Kill, FaultKind.Restart, FaultKind.Cut, FaultKind.Stall];

    private readonly AuditServer _server;
    private readonly AuditDatabase _database;
    private readonly Participant _publisher;
    private readonly TimeSpan _patience;
    private readonly List<Participant> _workers;
    private readonly List<Participant> _participants;

    public AuditScene(AuditServer server, AuditDatabase database, AuditScenario scenario, AuditSettings settings, Action<string> say)
    {
        _patience = settings.Patience;
        _server = server;
        _database = database;
        _publisher = Create("publisher", PartCommand.Publishes);
        _workers = [.. Enumerable.Range(1, settings.Plan.Workers).Select(i => Create(Invariant($"worker {i}"), PartCommand.Works))];
        _participants = [_publisher, .. settings.Plan.FromTable ? [Create("reader", PartCommand.Reads)] : Array.Empty<Participant>(), .. _workers];
        Targets =
        [
            .. _participants.Select(static p => new AuditTarget(p.Name, OfProcesses)),
            new AuditTarget(Server, server.IsOwn ? [FaultKind.Kill, FaultKind.Restart, FaultKind.EndSessions] : [FaultKind.EndSessions]),
            .. server is { IsOwn: true, Broker: not null } ? [new AuditTarget(Broker, [FaultKind.Kill, FaultKind.Restart])] : Array.Empty<AuditTarget>(),
        ];

        Participant Create(string name, string kind)
        {
            FaultProxy proxy = new(server.Admin.Host!, server.Admin.Port);
            FaultProxy? toBroker = server.Broker is { } broker ? new FaultProxy(broker.Host, broker.Port > 0 ? broker.Port : AmqpPort) : null;
            PartOrder order = new(
                settings.Plan.Engine,
                database.With("127.0.0.1", proxy.Port),
                database.Name,
                toBroker is null ? null : new UriBuilder(server.Broker!) { Host = "127.0.0.1", Port = toBroker.Port }.Uri,
                scenario.Name,
                scenario.TogetherOf(settings.ChangesOf(scenario)),
                settings.Plan.Fault,
                settings.Plan.FromTable);
            return new Participant(name, kind, order, toBroker is null ? [proxy] : [proxy, toBroker], settings.Patience, say);
        }
    }

    /// <summary>Whom a fault can happen to.</summary>
    public IReadOnlyList<AuditTarget> Targets { get; }

    /// <summary>The names of the workers.</summary>
    public IReadOnlyList<string> Workers => [.. _workers.Select(static w => w.Name)];

    /// <summary>Whether a fault kills a worker.</summary>
    public bool IsKillOfWorker(PlannedFault fault) => fault.Kind == FaultKind.Kill && _workers.Exists(w => w.Name == fault.Target);

    /// <summary>Starts the participants, and waits until all are at work: nobody is to be killed before that.</summary>
    public async Task StartAsync(CancellationToken stop)
    {
        _participants.ForEach(static p => p.Start());
        foreach (Participant participant in _participants)
        {
            await participant.WaitUntilReadyAsync(stop);
        }
    }

    /// <summary>Asks the publisher to publish up to a change.</summary>
    public void Publish(long goal) => _publisher.Tell(PartWords.GoalOf(goal));

    /// <summary>Why a participant has ended by itself; <see langword="null"/> if none has.</summary>
    public string? FindFailure() => _participants.Select(static p => p.FindFailure()).FirstOrDefault(static f => f is not null);

    /// <summary>Makes a fault happen, and brings back who is away.</summary>
    public async Task ApplyAsync(PlannedFault fault, CancellationToken stop)
    {
        TimeSpan time = TimeSpan.FromMilliseconds(fault.Milliseconds);
        if (_participants.Find(p => p.Name == fault.Target) is not { } participant)
        {
            await ApplyToServerAsync(fault.Target == Broker ? AuditServer.Rabbit : AuditServer.Postgres, fault.Kind, time, stop);
            return;
        }

        switch (fault.Kind)
        {
            case FaultKind.Kill:
                await participant.KillAsync();
                await Task.Delay(time, stop);
                participant.Start();
                break;
            case FaultKind.Restart:
                await participant.StopAsync();
                participant.Start();
                break;
            case FaultKind.Cut:
                participant.Cut();
                break;
            default:
                participant.Stall();
                try
                {
                    await Task.Delay(time, stop);
                }
                finally
                {
                    participant.Resume();
                }

                break;
        }
    }

    /// <summary>Stops the workers in an orderly way: what they have is applied then, or given back.</summary>
    public Task StopWorkersAsync() => Task.WhenAll(_workers.Select(static w => w.StopAsync()));

    /// <summary>Starts the workers again.</summary>
    public void StartWorkers() => _workers.ForEach(static w => w.Start());

    /// <summary>Stops all participants.</summary>
    /// <returns>Those that did not end when they were asked.</returns>
    public async Task<string[]> StopAsync()
    {
        List<string> stuck = [];
        foreach (Participant participant in _participants)
        {
            if (!await participant.StopAsync())
            {
                stuck.Add($"{participant.Name}, which had not stopped after {Numbers.Time(_patience)}, the --patience");
            }
        }

        return [.. stuck];
    }

    public async ValueTask DisposeAsync()
    {
        foreach (Participant participant in _participants)
        {
            await participant.DisposeAsync();
        }
    }

    private async Task ApplyToServerAsync(string server, FaultKind kind, TimeSpan time, CancellationToken stop)
    {
        switch (kind)
        {
            case FaultKind.EndSessions:
                await _database.EndSessionsAsync(stop);
                return;
            case FaultKind.Kill:
                await _server.KillAsync(server);
                break;
            default:
                await _server.StopAsync(server);
                break;
        }

        try
        {
            await Task.Delay(time, stop);
        }
        finally
        {
            await _server.UpAsync(server);
        }
    }
}
