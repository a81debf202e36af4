namespace Weir.Cli.Workloads.UserCode;

/// <summary>A user's workload. Each failure is reported in one clear sentence.</summary>
internal sealed class ClassWorkload : IWorkload
{
    private readonly string _class;
    private readonly UserObject _plan;
    private IWorkload? _own;

    /// <summary>Creates it. The user's object is made in the set-up.</summary>
    /// <exception cref="Hosting.BadInputException">A parameter cannot be set.</exception>
    public ClassWorkload(string name, UserMember member, IReadOnlyDictionary<string, string> parameters)
    {
        Name = name;
        _class = member.Name;
        _plan = new UserObject(member, parameters);
    }

    public string Name { get; }

    public async ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _own = (IWorkload)(await _plan.CreateAsync())!;
        await UserFailure.CallAsync($"{_class}.{nameof(SetupAsync)}", () => _own.SetupAsync(spec, cancellationToken), cancellationToken);
    }

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken) =>
        UserFailure.CallAsync($"{_class}.{nameof(BeginRoundAsync)}", () => _own!.BeginRoundAsync(cancellationToken), cancellationToken);

    public Operation CreateOperation(WorkerContext context)
    {
        try
        {
            return _own!.CreateOperation(context) ?? throw new InvalidOperationException("It returned null.");
        }
        catch (Exception e)
        {
            throw UserFailure.Of($"{_class}.{nameof(CreateOperation)}", e);
        }
    }

    // The message of an exception in a check is its finding.
    public string? Check(RoundTotals round)
    {
        try
        {
            return _own!.Check(round);
        }
        catch (Exception e)
        {
            return UserFailure.Of($"{_class}.{nameof(Check)}", e).Message;
        }
    }

    public async ValueTask CleanupAsync()
    {
        if (_own is not { } own)
        {
            return;
        }

        await UserFailure.CallAsync($"{_class}.{nameof(CleanupAsync)}", own.CleanupAsync, CancellationToken.None);
        await UserFailure.CallAsync($"Disposing of {_class}", () => UserFailure.DisposeAsync(own), CancellationToken.None);
    }
}
