using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;

namespace Weir.Lab.Suites;

/// <summary>The small methods with which document 002 shows BenchmarkDotNet, so that its figures have some of today beside them.</summary>
[MemoryDiagnoser]
[SuppressMessage("Security", "CA5351:Do Not Use Broken Cryptographic Algorithms", Justification = "It is work to measure, and protects nothing.")]
public class DeckBenchmarks
{
    private readonly byte[] _data = new byte[10_000];
    private readonly MD5 _md5 = MD5.Create();
    private readonly SHA256 _sha256 = SHA256.Create();
    private int _number;

    /// <summary>Makes the bytes to hash.</summary>
    public DeckBenchmarks() => new Random(42).NextBytes(_data);

    /// <summary>Parses a number of nine digits.</summary>
    /// <returns>The number.</returns>
    [Benchmark]
    public int ParseInt() => int.Parse("123456789");

    /// <summary>Adds four times, in a loop.</summary>
    [Benchmark]
    public void IncrementLoop()
    {
        for (int i = 0; i < 4; i++)
        {
            _number++;
        }
    }

    /// <summary>Adds four times, one after the other, and counts as four.</summary>
    [Benchmark(OperationsPerInvoke = 4)]
    public void Increment()
    {
        _number++;
        _number++;
        _number++;
        _number++;
    }

    /// <summary>Adds roots of constants, which the compiler knows.</summary>
    /// <returns>The sum.</returns>
    [Benchmark]
    public double Sqrt14() =>
        Math.Sqrt(1) + Math.Sqrt(2) + Math.Sqrt(3) + Math.Sqrt(4) + Math.Sqrt(5) + Math.Sqrt(6) + Math.Sqrt(7)
        + Math.Sqrt(8) + Math.Sqrt(9) + Math.Sqrt(10) + Math.Sqrt(11) + Math.Sqrt(12) + Math.Sqrt(13) + Math.Sqrt(14);

    /// <summary>Does nothing.</summary>
    [Benchmark]
    public void Nothing()
    {
    }

    /// <summary>Allocates eight bytes.</summary>
    /// <returns>The array.</returns>
    [Benchmark]
    public byte[] EightByteArray() => new byte[8];

    /// <summary>Allocates sixty-four bytes.</summary>
    /// <returns>The array.</returns>
    [Benchmark]
    public byte[] SixtyFourByteArray() => new byte[64];

    /// <summary>Makes a completed task of 0, which the platform of today has already.</summary>
    /// <returns>The task.</returns>
    [Benchmark]
    public Task<int> AllocateTask() => Task.FromResult(default(int));

    /// <summary>Makes a completed task of a number that the platform has no task of.</summary>
    /// <returns>The task.</returns>
    [Benchmark]
    public Task<int> AllocateTaskOfAnother() => Task.FromResult(123_456);

    /// <summary>Raises to a power.</summary>
    /// <param name="x">The base.</param>
    /// <param name="y">The exponent.</param>
    /// <returns>The power.</returns>
    [Benchmark]
    [ArgumentsSource(nameof(Numbers))]
    public double Pow(double x, double y) => Math.Pow(x, y);

    /// <summary>Hashes ten thousand bytes.</summary>
    /// <returns>The hash.</returns>
    [Benchmark]
    public byte[] Md5() => _md5.ComputeHash(_data);

    /// <summary>Hashes ten thousand bytes.</summary>
    /// <returns>The hash.</returns>
    [Benchmark]
    public byte[] Sha256() => _sha256.ComputeHash(_data);

    /// <summary>The arguments of <see cref="Pow"/>.</summary>
    /// <returns>Pairs of numbers.</returns>
    public IEnumerable<object[]> Numbers() => [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [10.0, 10.0]];
}
