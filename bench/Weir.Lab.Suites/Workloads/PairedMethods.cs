namespace Weir.Lab.Suites;

/// <summary>
/// Methods as users have them, each beside one that takes a tenth longer: for the check that <c>weir compare</c> finds the one, and finds nothing where there
/// is nothing.
/// </summary>
public class PairedMethods
{
    /// <summary>The smallest object: its header, its type, and room for one field.</summary>
    public const int BytesOfOneMore = 3 * sizeof(long);

    private const int WaitMicroseconds = 1100;
    private const int Bytes = 1000;
    private readonly string _name = new('n', 16);
    private readonly string _longerName = new('n', 18);
    private readonly int _spins = SpinSpeed.PerMicrosecond;

    // Seen by others, or the compiler would put it on the stack.
    private object? _last;

    /// <summary>Computes for some 20 ns: the hash code of a name.</summary>
    /// <returns>The hash code.</returns>
    public int Hash() => _name.GetHashCode();

    /// <summary>Computes the hash code of a name that takes a tenth longer.</summary>
    /// <returns>The hash code.</returns>
    public int HashLonger() => _longerName.GetHashCode();

    /// <summary>Computes for 10 us.</summary>
    /// <returns>What it came to.</returns>
    public long Compute() => CalibratedSpin.Run(1, 10 * _spins);

    /// <summary>Computes for 11 us, a tenth longer than <see cref="Compute"/>.</summary>
    /// <returns>What it came to.</returns>
    public long ComputeLonger() => CalibratedSpin.Run(1, 11 * _spins);

    /// <summary>Computes for 10.5 us, a twentieth longer than <see cref="Compute"/>.</summary>
    /// <returns>What it came to.</returns>
    public long ComputeTwentiethLonger() => CalibratedSpin.Run(1, 105 * _spins / 10);

    /// <summary>Waits for a millisecond, which takes a tenth more.</summary>
    public void Wait() => Thread.Sleep(1);

    /// <summary>Waits for a millisecond, and computes for a tenth of that.</summary>
    /// <returns>What it came to.</returns>
    public long WaitLonger()
    {
        Thread.Sleep(1);
        return CalibratedSpin.Run(1, WaitMicroseconds / 10 * _spins);
    }

    /// <summary>Allocates an array, and computes for a microsecond.</summary>
    /// <returns>The array.</returns>
    public byte[] Allocate() => Filled(10);

    /// <summary>Allocates an array as long as that of <see cref="Allocate"/>, and computes for a tenth longer.</summary>
    /// <returns>The array.</returns>
    public byte[] AllocateLonger() => Filled(11);

    /// <summary>As <see cref="Allocate"/>, and allocates one small object more, of <see cref="BytesOfOneMore"/> bytes.</summary>
    /// <returns>The array.</returns>
    public byte[] AllocateOneMore()
    {
        _last = new object();
        return Filled(10);
    }

    private byte[] Filled(int tenths)
    {
        byte[] array = new byte[Bytes];
        array[0] = (byte)CalibratedSpin.Run(1, tenths * _spins / 10);
        return array;
    }
}
