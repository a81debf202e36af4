namespace Weir.Explore.Model;

/// <summary>A lock of the schedule.</summary>
[Replaces("System.Threading.Lock")]
internal sealed class Lock
{
    private const string Name = "a Lock";
    private readonly LockState _state = new();

    public bool IsHeldByCurrentThread => _state.IsMine;

    public void Enter() => _state.Enter(Name);

    public Scope EnterScope()
    {
        _state.Enter(Name);
        return new Scope(this);
    }

    public void Exit() => _state.Exit();

    public bool TryEnter() => _state.TryEnter(Name, TimeSpan.Zero);

    public bool TryEnter(int millisecondsTimeout) => TryEnter(TimeSpan.FromMilliseconds(millisecondsTimeout));

    public bool TryEnter(TimeSpan timeout) => _state.TryEnter(Name, timeout);

    public ref struct Scope(Lock taken)
    {
        private Lock? _taken = taken;

        public void Dispose()
        {
            _taken?.Exit();
            _taken = null;
        }
    }
}
