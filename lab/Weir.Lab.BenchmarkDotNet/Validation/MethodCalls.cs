using System.Buffers.Binary;
using System.Reflection.Emit;

namespace Weir.Lab.Benchmarks.Validation;

/// <summary>Reads the calls out of the code of a method.</summary>
internal static class MethodCalls
{
    private const byte TwoBytes = 0xFE;
    private static readonly Dictionary<short, OpCode> Codes = typeof(OpCodes).GetFields(BindingFlags.Static | BindingFlags.Public)
        .Select(static f => (OpCode)f.GetValue(null)!)
        .ToDictionary(static c => c.Value);

    /// <summary>The calls in the order of the code; none when the method has no code that can be read.</summary>
    public static IReadOnlyList<Call> Of(MethodInfo method)
    {
        if (method.GetMethodBody()?.GetILAsByteArray() is not byte[] code)
        {
            return [];
        }

        List<Call> calls = [];
        int? constant = null;
        for (int at = 0; at < code.Length;)
        {
            OpCode op = Read(code, ref at);
            int operand = at;
            at += SizeOf(op, code, at);
            if (op.OperandType == OperandType.InlineMethod && op != OpCodes.Newobj && Resolve(method, code, operand) is MethodBase called)
            {
                bool isDropped =
                    at < code.Length && code[at] == OpCodes.Pop.Value && called is MethodInfo { ReturnType: var returned } && returned != typeof(void);
                calls.Add(new Call(called, constant, isDropped));
            }

            constant = ConstantOf(op, code, operand) ?? (op == OpCodes.Nop ? constant : null);
        }

        return calls;
    }

    private static OpCode Read(byte[] code, ref int at)
    {
        byte first = code[at++];
        return Codes[first == TwoBytes ? unchecked((short)((TwoBytes << 8) | code[at++])) : first];
    }

    private static int SizeOf(OpCode op, byte[] code, int at) => op.OperandType switch
    {
        OperandType.InlineNone => 0,
        OperandType.ShortInlineBrTarget or OperandType.ShortInlineI or OperandType.ShortInlineVar => 1,
        OperandType.InlineVar => 2,
        OperandType.InlineI8 or OperandType.InlineR => 8,
        OperandType.InlineSwitch => 4 + (4 * BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at))),
        _ => 4,
    };

    private static int? ConstantOf(OpCode op, byte[] code, int operand) =>
        op == OpCodes.Ldc_I4_S ? (sbyte)code[operand]
        : op == OpCodes.Ldc_I4 ? BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(operand))
        : op.Value >= OpCodes.Ldc_I4_M1.Value && op.Value <= OpCodes.Ldc_I4_8.Value ? op.Value - OpCodes.Ldc_I4_0.Value
        : null;

    private static MethodBase? Resolve(MethodInfo method, byte[] code, int at)
    {
        try
        {
            return method.Module.ResolveMethod(
                BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at)),
                method.DeclaringType is { IsGenericType: true } type ? type.GetGenericArguments() : null,
                method.IsGenericMethod ? method.GetGenericArguments() : null);
        }
        catch (Exception error) when (error is ArgumentException or BadImageFormatException or FileNotFoundException or TypeLoadException)
        {
            // A call that cannot be read is none that could be warned of.
            return null;
        }
    }
}
